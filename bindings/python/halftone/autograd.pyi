from . import Function as Function
from . import no_grad as no_grad
