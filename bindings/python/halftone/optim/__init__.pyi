from collections.abc import Callable, Iterable
from typing import Any, Union

from .. import Module
from .. import Optimizer as _Native
from ..nn import Parameter
from . import lr_scheduler as lr_scheduler

_Params = Union[Module, Iterable[Parameter], Iterable[tuple[str, Parameter]], Iterable[dict[str, Any]]]

class Optimizer(_Native):
    param_groups: list[dict[str, Any]]
    defaults: dict[str, Any]
    def __init__(self, params: _Params, **settings: Any) -> None: ...
    def add_param_group(self, param_group: dict[str, Any]) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ...) -> Any: ...
    def zero_grad(self, set_to_none: bool = ...) -> None: ...

class Adafactor(Optimizer):
    def __init__(self, params: _Params, lr: float = ..., beta2_decay: float = ..., eps: tuple[float | None, float] = ..., d: float = ..., weight_decay: float = ..., *, maximize: bool = ..., foreach: bool | None = ..., **library: Any) -> None: ...

class Adam(Optimizer):
    def __init__(self, params: _Params, lr: float = ..., betas: tuple[float, float] = ..., eps: float = ..., weight_decay: float = ..., amsgrad: bool = ..., *, maximize: bool = ..., foreach: bool | None = ..., capturable: bool = ..., differentiable: bool = ..., fused: bool | None = ..., **library: Any) -> None: ...

class AdamW(Optimizer):
    def __init__(self, params: _Params, lr: float = ..., betas: tuple[float, float] = ..., eps: float = ..., weight_decay: float = ..., amsgrad: bool = ..., *, maximize: bool = ..., foreach: bool | None = ..., capturable: bool = ..., differentiable: bool = ..., fused: bool | None = ..., **library: Any) -> None: ...

class Lion(Optimizer):
    def __init__(self, params: _Params, lr: float = ..., betas: tuple[float, float] = ..., weight_decay: float = ..., **library: Any) -> None: ...

class RMSprop(Optimizer):
    def __init__(self, params: _Params, lr: float = ..., alpha: float = ..., eps: float = ..., weight_decay: float = ..., momentum: float | None = ..., centered: bool = ..., *, capturable: bool = ..., foreach: bool | None = ..., maximize: bool = ..., differentiable: bool = ..., **library: Any) -> None: ...

class SGD(Optimizer):
    def __init__(self, params: _Params, lr: float = ..., momentum: float | None = ..., dampening: float = ..., weight_decay: float = ..., nesterov: bool = ..., *, maximize: bool = ..., foreach: bool | None = ..., differentiable: bool = ..., fused: bool | None = ..., **library: Any) -> None: ...
