"""Independent checkers: each imports only the problem and recomputes what a plan claims.

The module itself is callable, as ``ioopt.check(problem, result)``: an attribute of that name would
be overwritten by the import system as soon as a checker is loaded.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ioopt.result import Violation


class _CallableModule(ModuleType):
    def __call__(self, source: Any, result: Any = None, link: str | None = None) -> list[Violation]:
        from ioopt.checking import check

        return check(source, result, link)


sys.modules[__name__].__class__ = _CallableModule
