"""Mixed precision with PyTorch's names: autocast and GradScaler.

    scaler = amp.GradScaler("cuda")
    with amp.autocast("cuda", dtype="f16"):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # to clip
    scaler.step(optimizer)
    scaler.update()
"""

from . import halftone as _generated
from .halftone import GradScaler as _Native
from .devices import device_of
from .scopes import autocast

_c = _generated._halftone


class GradScaler(_Native):
    """Multiplies the loss so that small gradients do not vanish in f16, and skips steps whose gradients overflowed."""

    def __init__(self, device="cpu", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True, **settings):
        made = _Native(device_of("GradScaler", device), initial_scale=init_scale, growth_factor=growth_factor,
                       backoff_factor=backoff_factor, growth_interval=growth_interval, enabled=enabled, **settings)
        self.__dict__.update(this=made.this, _enabled=enabled, growth_interval=growth_interval,
                             growth_factor=growth_factor, backoff_factor=backoff_factor)

    def scale(self, outputs):
        """The loss times the scale; also of a list or a tuple of losses."""
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(item) for item in outputs)
        return _c.GradScaler_scale(self, outputs)

    def unscale_(self, optimizer):
        """Checks the gradients, and lets clipping see them without the scale. They are stored with it."""
        if self._enabled:
            _c.GradScaler_unscale(self, optimizer)

    def step(self, optimizer):
        """Steps the optimizer, unless a gradient is not finite."""
        _c.GradScaler_step(self, optimizer)

    def update(self, new_scale=None):
        """Adapts the scale to the gradients since the last update, or sets it."""
        if self._enabled:
            _c.GradScaler_update(self)
            if new_scale is not None:
                state = _c.GradScaler_state(self)
                state.scale = float(new_scale)
                _c.GradScaler_set_state(self, state)

    def get_scale(self):
        """The scale of the next loss."""
        return _c.GradScaler_current_scale(self)

    def is_enabled(self):
        """False if everything passes through."""
        return self._enabled

    def state_dict(self):
        """The state as a dictionary."""
        return dict(_c.GradScaler_state(self)) if self._enabled else {}

    def load_state_dict(self, state_dict):
        """Continues from the state of state_dict()."""
        if not self._enabled:
            return
        state = _c.GradScaler_state(self)
        for name, value in state_dict.items():
            if name not in state.keys():
                raise KeyError(f"load_state_dict: {name!r} is no field of the state; known are {list(state.keys())}")
            setattr(state, name, value)
        _c.GradScaler_set_state(self, state)


__all__ = ["GradScaler", "autocast"]
