"""Compile simulator kernels with numba.

A kernel module is plain Python over flat arrays. The same code gives the same answer
whether it is compiled or not. The machine code is stored on disk.
:mod:`ioopt.compiled.choice` decides when it is made and used.
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
"""Folders with the code that kernels may call and the code that compiles kernels."""


@cache
def available() -> bool:
    """Return whether numba is installed, without importing it."""
    return find_spec("numba") is not None


@cache
def compiled(module: str, name: str, whole: bool = False) -> Callable[..., Any]:
    """Return function *name* of kernel module *module*, compiled on its first call.

    The function may call every function of its module, and of the kernel modules from
    which this module imports. With *whole*, the machine code of these functions is
    inlined. Named tuples are passed by reference (:mod:`ioopt.compiled.references`).
    Kernels allocate nothing, so reference counting is off; it would make kernels 20
    times slower. Raises an error if numba is missing.
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
    """Remove the index *stored* if it names types of another version.

    numba reads the index before its stamp and would fail.
    """
    try:
        stored._load_index()
    except Exception:
        Path(stored._index_path).unlink(missing_ok=True)


def tuned(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that sets numba *options* for a function of a kernel."""

    def decorate(function: Callable[..., Any]) -> Any:
        function.numba_options = options  # type: ignore[attr-defined]
        return function

    return decorate


def apart(function: CallableT) -> CallableT:
    """Mark *function* to be compiled once and called, rather than inlined.

    In a kernel compiled with ``whole``, every other function is inlined.
    """
    result: CallableT = tuned(forceinline=False)(function)
    return result


@cache
def source_stamp(*places: Path) -> str:
    """Return a hash of the Python files at or below *places*.

    The hash is computed once in a process.
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
    """Return whether machine code of a function from :func:`compiled` is already
    stored.
    """
    stored = _cache_file(function)
    loaded = bool(getattr(function, "signatures", ()))
    return loaded or (stored is not None and bool(stored._load_index()))


def by_reference(value: ValueT) -> ValueT:
    """Return *value*; in machine code, a named tuple is then passed by its address.

    The address is valid until the calling function ends.
    """
    return value


Box = Any
"""A container of numbers in a kernel: a list, or a numpy array in machine code.

The same code serves both. numba reads no annotations, so the name is only for readers
and is not checked.
"""


def boxes(arrays: bool) -> Callable[..., Box]:
    """Return a function that makes containers of numbers for a kernel.

    The containers are numpy arrays if *arrays* is true, and otherwise lists. The
    function takes the values, which are whole numbers unless ``real=True``.
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
"""Options that leave out Python wrappers, which convert every argument and take half of
the compile time.
"""

_REGISTERED: set[Callable[..., Any]] = {by_reference}


def _register(module: ModuleType, seen: set[str], whole: bool) -> None:
    """Make the functions of *module* callable in machine code.

    This includes the functions of ioopt modules from which *module* imports. *module*
    may name another module in ``COMPILED_AS``. In machine code, the functions of the
    other module then replace functions of *module* with the same names, and built-in
    ones that *module* imports. *seen* collects the names of modules. *whole* is
    explained at :func:`compiled`.
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
    """Return a function that gives numba *text* as the code for any argument types."""
    return lambda *arguments, **named: text
