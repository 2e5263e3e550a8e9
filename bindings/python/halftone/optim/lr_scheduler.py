"""Learning rates over time with PyTorch's names and order of calls: optimizer.step(), then scheduler.step().

They set the learning rates of the optimizer's groups. ht.Schedule and optimizer.set_schedule are the library's own,
which follow the optimizer's steps without a call.
"""

import bisect
import math
import warnings

from ..halftone import Optimizer


class LRScheduler:
    """Sets the learning rate of each group to its own times factor(epoch)."""

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer) or not hasattr(optimizer, "param_groups"):
            raise TypeError(f"{type(self).__name__}: optimizer must be one of halftone.optim, got "
                            f"{type(optimizer).__name__}")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"{type(self).__name__}: 'initial_lr' is not in the groups; it is needed for "
                               f"last_epoch={last_epoch}")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._steps_at_begin = optimizer.step_count
        self._advance()

    def factor(self, epoch):
        """The share of the group's own learning rate."""
        raise NotImplementedError

    def get_lr(self):
        """The learning rates of the groups at the epoch."""
        return [base * self.factor(self.last_epoch) for base in self.base_lrs]

    def get_last_lr(self):
        """The learning rates of the groups now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch=None):
        """Goes on by one epoch."""
        if self.last_epoch == 0 and self.optimizer.step_count == self._steps_at_begin and epoch is None:
            warnings.warn(f"{type(self).__name__}.step() came before optimizer.step(), so the first learning rate is "
                          "not used", stacklevel=2)
        if epoch is not None:
            self.last_epoch = epoch - 1
        self._advance()

    def _advance(self):
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = rate

    def state_dict(self):
        """The state as a dictionary."""
        return {name: value for name, value in vars(self).items() if name not in ("optimizer", "_steps_at_begin")}

    def load_state_dict(self, state_dict):
        """Continues from the state of state_dict()."""
        vars(self).update(state_dict)
        for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = rate


class LambdaLR(LRScheduler):
    """The share is a function of the epoch: one for all groups, or one for each."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"LambdaLR: lr_lambda must have {groups} functions, got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas)]

    def state_dict(self):
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}


class StepLR(LRScheduler):
    """Multiplies by gamma every step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiplies by gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        return self.gamma ** bisect.bisect_right(self.milestones, epoch)


class ConstantLR(LRScheduler):
    """A share until total_iters, then the whole rate."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        self.share, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        return self.share if epoch < self.total_iters else 1.0


class LinearLR(LRScheduler):
    """A straight line from start_factor to end_factor."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        return self.start_factor + (self.end_factor - self.start_factor) * min(epoch / self.total_iters, 1.0)


class ExponentialLR(LRScheduler):
    """Multiplies by gamma after every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        return self.gamma**epoch


class PolynomialLR(LRScheduler):
    """Falls to 0 by a power of the time that is left."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch):
        return (1.0 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine down to eta_min, and up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to eta_min, anew after each period, of which each is T_mult times as long as the last."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        position, period = self.last_epoch, self.T_0
        while position >= period:
            position, period = position - period, period * self.T_mult
        share = (1 + math.cos(math.pi * position / period)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Rises to max_lr and falls to far below the begin. The momentum does not change."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=False, div_factor=25.0, final_div_factor=1e4,
                 three_phase=False, last_epoch=-1):
        if cycle_momentum:
            raise NotImplementedError("OneCycleLR: cycle_momentum=True is not supported")
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        groups = len(optimizer.param_groups)
        self.max_lrs = list(max_lr) if isinstance(max_lr, (list, tuple)) else [max_lr] * groups
        self.is_linear, self.three_phase = anneal_strategy == "linear", three_phase
        self.pct_start, self.div_factor, self.final_div_factor = pct_start, div_factor, final_div_factor
        super().__init__(optimizer, last_epoch)

    def _phases(self):
        """End, first and last share of each phase."""
        first, last = 1 / self.div_factor, 1 / self.div_factor / self.final_div_factor
        top = float(self.pct_start * self.total_steps) - 1
        if not self.three_phase:
            return [(top, first, 1.0), (self.total_steps - 1, 1.0, last)]
        return [(top, first, 1.0), (2 * self.pct_start * self.total_steps - 2, 1.0, first),
                (self.total_steps - 1, first, last)]

    def get_lr(self):
        if self.last_epoch > self.total_steps:
            raise ValueError(f"OneCycleLR: step {self.last_epoch} of {self.total_steps}")
        begin, phases = 0.0, self._phases()
        for end, low, high in phases:
            if self.last_epoch <= end or end == phases[-1][0]:
                break
            begin = end
        share = (self.last_epoch - begin) / (end - begin)
        if self.is_linear:
            factor = low + (high - low) * share
        else:
            factor = high + (low - high) / 2 * (math.cos(math.pi * share) + 1)
        return [most * factor for most in self.max_lrs]


class SequentialLR(LRScheduler):
    """Schedules one after another: each begins at its milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"SequentialLR: milestones must be {len(schedulers) - 1} numbers, got {len(milestones)}")
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        index = bisect.bisect_right(self.milestones, self.last_epoch)
        running = self.schedulers[index]
        running.last_epoch = self.last_epoch - (self.milestones[index - 1] if index else 0)
        return running.get_lr()

    def state_dict(self):
        own = {name: value for name, value in super().state_dict().items() if name != "schedulers"}
        return {**own, "schedulers": [scheduler.state_dict() for scheduler in self.schedulers]}

    def load_state_dict(self, state_dict):
        for scheduler, state in zip(self.schedulers, state_dict["schedulers"]):
            vars(scheduler).update(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "schedulers"})


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rate when a number has stopped to improve: scheduler.step(loss)."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel",
                 cooldown=0, min_lr=0.0, eps=1e-8):
        for name, value, known in (("mode", mode, ("min", "max")), ("threshold_mode", threshold_mode, ("rel", "abs"))):
            if value not in known:
                raise ValueError(f"ReduceLROnPlateau: {name} must be one of {known}, got {value!r}")
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor!r}")
        self.mode, self.share, self.patience, self.threshold = mode, factor, patience, threshold
        self.threshold_mode, self.cooldown, self.min_lr, self.eps = threshold_mode, cooldown, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        super().__init__(optimizer)

    def get_lr(self):
        return self.get_last_lr()

    def _is_better(self, metric):
        if math.isinf(self.best):
            return not math.isnan(metric)
        sign = -1 if self.mode == "min" else 1
        limit = self.best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else (
            self.best + sign * self.threshold)
        return sign * metric > sign * limit

    def step(self, metrics, epoch=None):
        """Reports how well training goes."""
        metric = float(metrics)
        self.last_epoch += 1
        if self._is_better(metric):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                rate = max(group["lr"] * self.share, self.min_lr)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0


__all__ = [name for name, value in globals().items() if isinstance(value, type) and value is not Optimizer]
