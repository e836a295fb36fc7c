"""ioopt: where should work run and where should its data be, when
I/O is the bottleneck?

>>> import ioopt
>>> problem = ioopt.load("cycle3")
>>> ioopt.solve(problem, solver="minmin").status
<Status.FEASIBLE: 'feasible'>
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ioopt import check as _checkers
from ioopt.version import __version__ as __version__

if TYPE_CHECKING:
    from ioopt.building import Batch as Batch
    from ioopt.checking import check as check
    from ioopt.comparing import compare as compare
    from ioopt.result import Result as Result
    from ioopt.result import Status as Status
    from ioopt.result import StopReason as StopReason
    from ioopt.result import Violation
    from ioopt.solving import load as load
    from ioopt.solving import simulate as simulate
    from ioopt.solving import solve as solve

_LAZY = {
    "load": "ioopt.solving",
    "solve": "ioopt.solving",
    "simulate": "ioopt.solving",
    "compare": "ioopt.comparing",
    "Result": "ioopt.result",
    "Status": "ioopt.result",
    "StopReason": "ioopt.result",
    "Violation": "ioopt.result",
    "Batch": "ioopt.building",
    "embed": "ioopt.embed",
}

__all__ = [
    "Batch",
    "Result",
    "Status",
    "StopReason",
    "Violation",
    "check",
    "compare",
    "load",
    "simulate",
    "solve",
]


class _Check(ModuleType):
    """The package of checkers, callable: the import system would
    overwrite a function there.
    """

    def __call__(self, *args: Any, **options: Any) -> list[Violation]:
        from ioopt.checking import check

        return check(*args, **options)


sys.modules[_checkers.__name__].__class__ = _Check


def __getattr__(name: str) -> Any:
    """Load public names on first use, so that importing ioopt costs nothing."""
    if name not in _LAZY:
        raise AttributeError(f"module 'ioopt' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    value = (
        module if module.__name__.rpartition(".")[2] == name else getattr(module, name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "embed", "__version__", "__doc__", "__file__", "__path__"})
