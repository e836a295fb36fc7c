"""Compile simulator kernels with numba.

A kernel module is plain Python over flat arrays; compiled or not, the same code gives
the same answer. The machine code is stored on disk; :mod:`ioopt.compiled.choice`
decides when it is made and used.
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
    """Array of whole numbers of a kernel; a list in plain Python."""
    Floats = NDArray[np.float64]

CallableT = TypeVar("CallableT", bound=Callable[..., Any])
ValueT = TypeVar("ValueT")

ROOMS = ("compiled", "decisions", "measure", "sim")
KERNEL_ROOMS = tuple(Path(__file__).parents[1] / room for room in ROOMS)
"""Folders with the code that kernels may call, and with the code that compiles
kernels.
"""


@cache
def available() -> bool:
    """Return whether numba is installed, without importing it."""
    return find_spec("numba") is not None


@cache
def compiled(module: str, name: str, whole: bool = False) -> Callable[..., Any]:
    """Return function *name* of kernel module *module*, compiled on its first call.

    It may call every function of its module and of the kernel modules that this one
    imports from; *whole* inlines their machine code. Named tuples are passed by
    reference (:mod:`ioopt.compiled.references`). Kernels allocate nothing, so reference
    counting is off; it would multiply the kernel's time by 20.
    """
    if not available():
        # Imported here: a kernel's cache key covers this module's imports.
        from ioopt.errors import missing

        raise missing("numba", "machine code")
    from numba import njit

    loaded = import_module(module)
    seen: set[str] = set()
    _register(loaded, seen, whole)
    outer = import_module("ioopt.compiled.references").entry(getattr(loaded, name))
    result: Callable[..., Any] = njit(cache=True, nogil=True, _nrt=False)(outer)
    stored = _cache_file(result)
    if stored is not None:
        # numba checks the age of one source file only, but a kernel spans several.
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
    """Remove an index that names types of another version: numba reads it before its
    stamp.
    """
    try:
        stored._load_index()
    except Exception:
        Path(stored._index_path).unlink(missing_ok=True)


def tuned(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Set numba's options for one function of a kernel module, beside the common
    ones.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        function.numba_options = options  # type: ignore[attr-defined]
        return function

    return decorate


def apart(function: CallableT) -> CallableT:
    """Mark *function* to be compiled once and called, not inlined.

    In a kernel compiled ``whole``, every other function is inlined.
    """
    result: CallableT = tuned(forceinline=False)(function)
    return result


@cache
def source_stamp(*places: Path) -> str:
    """Return a hash of the Python files at or below *places*, cached at the first
    call.
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
    """Return whether machine code of a kernel of :func:`compiled` is already stored."""
    stored = _cache_file(function)
    loaded = bool(getattr(function, "signatures", ()))
    return loaded or (stored is not None and bool(stored._load_index()))


def by_reference(value: ValueT) -> ValueT:
    """Return *value*, passed by address in machine code if it is a named tuple.

    The address is valid until the calling function ends.
    """
    return value


Box = Any
"""Container of a kernel's numbers: a list, or a numpy array in machine code.

The same code serves both, and numba reads no annotations, so the name is for readers
and not checked.
"""


def boxes(arrays: bool) -> Callable[..., Box]:
    """Return a factory of a kernel's number containers: lists, or numpy arrays if
    compiled.

    The factory takes the values, whole numbers unless ``real=True``.
    """
    if not arrays:
        return lambda values, real=False: list(values)
    import numpy as np

    return lambda values, real=False: np.array(
        values, dtype=np.float64 if real else np.int64
    )


def _cache_file(function: Callable[..., Any]) -> Any:
    """Return numba's index of the stored code of *function*, or None."""
    return getattr(getattr(function, "_cache", None), "_cache_file", None)


_WITHOUT_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Python wrappers convert every argument, which takes half of the compile time."""

_REGISTERED: set[Callable[..., Any]] = {by_reference}


def _register(module: ModuleType, seen: set[str], whole: bool) -> None:
    """Make the functions of *module*, and of the ioopt modules it imports from,
    callable.

    A module may name another in ``COMPILED_AS``. In machine code that module's
    functions replace its own functions of the same names, and built-in ones that it
    imports.
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
    """Return the options that numba needs for a function, whatever its argument
    types.
    """
    return lambda *arguments, **named: text
