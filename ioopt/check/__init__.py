"""Independent checkers: each imports only the problem and recomputes what a plan claims.

The package is also the public call ``ioopt.check(problem, result)``: a plain attribute of that
name on ``ioopt`` would be overwritten by the import system as soon as a checker is loaded, so the
module itself is made callable.
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
