"""Compiling simulator kernels with numba.

A kernel module is plain Python over flat arrays; compiled and not, one text gives
one answer. The machine code is kept on disk; :mod:`ioopt.compiled.choice` says when
it is made and used.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    """Whole numbers of a kernel; lists in plain Python."""
    Floats = NDArray[np.float64]

CallableT = TypeVar("CallableT", bound=Callable[..., Any])
ValueT = TypeVar("ValueT")

ROOMS = ("compiled", "decisions", "measure", "sim")
KERNEL_ROOMS = tuple(Path(__file__).parents[1] / room for room in ROOMS)
"""Folders whose files kernels may call into, or are compiled by."""


@cache
def available() -> bool:
    """Whether numba is installed (it is not imported to find out)."""
    return find_spec("numba") is not None


@cache
def compiled(module: str, name: str, whole: bool = False) -> Callable[..., Any]:
    """Function *name* of kernel module *module*, compiled on its first call.

    It may call every function of its module and of the kernel modules that this
    one imports from; *whole* puts their machine code in the place of the calls.
    Named tuples are handed on by reference (:mod:`ioopt.compiled.references`).
    Kernels allocate nothing, so reference counting is off: on, it takes 20
    times the kernel's time.
    """
    if not available():
        from ioopt.errors import (
            missing,
        )  # here: kernels are stamped by what this module imports

        raise missing("numba", "machine code")
    from numba import njit

    loaded = import_module(module)
    seen: set[str] = set()
    _register(loaded, seen, whole)
    outer = import_module("ioopt.compiled.references").entry(getattr(loaded, name))
    result: Callable[..., Any] = njit(cache=True, nogil=True, _nrt=False)(outer)
    stored = _cache_file(result)
    if stored is not None:
        # numba looks at the age of one source file only; a kernel spans several.
        files = [Path(str(import_module(part).__file__)) for part in sorted(seen)]
        others = [
            file
            for file in files
            if not any(room in file.parents for room in KERNEL_ROOMS)
        ]
        stored._source_stamp = source_stamp(*KERNEL_ROOMS, *others)
        forget_unreadable(stored)
    return result


def forget_unreadable(stored: Any) -> None:
    """Remove an index that names types of another version of ioopt: numba reads
    it before its stamp.
    """
    try:
        stored._load_index()
    except Exception:
        Path(stored._index_path).unlink(missing_ok=True)


def tuned(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba's options for one function of a kernel module, beside those of all."""

    def decorate(function: Callable[..., Any]) -> Any:
        function.numba_options = options  # type: ignore[attr-defined]
        return function

    return decorate


def apart(function: CallableT) -> CallableT:
    """Keep the machine code of *function* in one place, which others call.

    Where a kernel is compiled ``whole``, everything else is put in
    the place of its calls.
    """
    result: CallableT = tuned(forceinline=False)(function)
    return result


@cache
def source_stamp(*places: Path) -> str:
    """A hash of the Python files at or below *places*, as they were
    when first asked for.
    """
    digest = hashlib.sha256()
    for file in sorted(
        file
        for place in places
        for file in ([place] if place.is_file() else place.rglob("*.py"))
    ):
        digest.update(f"{file.name}:{file.stat().st_size}:".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether machine code of a kernel of :func:`compiled` need not be made."""
    stored = _cache_file(function)
    loaded = bool(getattr(function, "signatures", ()))
    return loaded or (stored is not None and bool(stored._load_index()))


def by_reference(value: ValueT) -> ValueT:
    """*value*, which machine code hands on by its address where it is a named tuple.

    The address is good until the calling function ends.
    """
    return value


Box = Any
"""What holds a kernel's numbers (:func:`boxes`): a list, or a numpy
array under machine code.

One text serves both, and numba reads no annotations: a name for readers, not a check.
"""


def boxes(arrays: bool) -> Callable[..., Box]:
    """What holds a kernel's numbers: lists for plain Python, numpy
    arrays for machine code.

    The function takes the values, whole numbers unless ``real=True``.
    """
    if not arrays:
        return lambda values, real=False: list(values)
    import numpy as np

    return lambda values, real=False: np.array(
        values, dtype=np.float64 if real else np.int64
    )


def _cache_file(function: Callable[..., Any]) -> Any:
    """numba's index of the stored code of *function*; None where numba keeps none."""
    return getattr(getattr(function, "_cache", None), "_cache_file", None)


_WITHOUT_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Wrappers for Python take apart and put together every argument: half of
what compiling takes.
"""

_REGISTERED: set[Callable[..., Any]] = {by_reference}


def _register(module: ModuleType, seen: set[str], whole: bool) -> None:
    """Make the functions of *module*, and of ioopt modules it takes
    functions from, callable.

    A module may name another in ``COMPILED_AS``, whose functions of the same names take
    the place of its own, and of the built-in ones that it imports, in machine code.
    """
    from numba.extending import overload

    part = import_module("ioopt.compiled.references").PartCompiler
    seen.add(module.__name__)
    twins = module
    if "COMPILED_AS" in vars(module):
        twins = import_module(module.COMPILED_AS)
        _register(twins, seen, whole)
    for name, function in list(vars(module).items()):
        unknown = isinstance(getattr(twins, name, None), FunctionType) and isinstance(
            function, BuiltinFunctionType
        )
        ours = isinstance(function, FunctionType) and function.__module__.startswith(
            "ioopt."
        )
        if not ours and not unknown:
            continue
        if ours and function.__module__ not in seen:
            _register(import_module(function.__module__), seen, whole)
        if function not in _REGISTERED:
            _REGISTERED.add(function)
            text = getattr(twins, name, function)
            options = {"_nrt": False, "forceinline": whole, "pipeline_class": part}
            options |= _WITHOUT_WRAPPERS
            options |= getattr(text, "numba_options", {})
            overload(function, jit_options=options, strict=False)(_always(text))


def _always(text: Callable[..., Any]) -> Callable[..., Any]:
    """What numba asks for the text of a function, whatever the
    types of its arguments.
    """
    return lambda *arguments, **named: text
