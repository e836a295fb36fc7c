"""Compiling simulator kernels with numba, on first use and only where it pays.

A kernel module is plain Python over flat arrays; compiled and not, one text gives one answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any


@cache
def available() -> bool:
    """Whether numba is installed (it is not imported to find out)."""
    return find_spec("numba") is not None


@cache
def compiled(module: str, name: str) -> Callable[..., Any]:
    """Function *name* of kernel module *module*, compiled, machine code kept on disk between runs.

    Every function that the module defines or takes from another kernel module may be called from it.
    """
    from numba import njit
    from numba.extending import register_jitable

    loaded = import_module(module)
    for function in list(vars(loaded).values()):
        if isinstance(function, FunctionType) and function not in _REGISTERED:
            _REGISTERED.add(function)
            register_jitable(function)
    result: Callable[..., Any] = njit(cache=True, nogil=True)(getattr(loaded, name))
    return result


_REGISTERED: set[FunctionType] = set()
