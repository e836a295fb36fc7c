"""Kernels that are called by their address, whose machine code runs without numba.

numba takes .6 s to load and to set up before its first kernel runs, most of which is for compiling. What
it compiled is kept once more as the bare object code, which LLVM alone links in 25 ms. Arguments reach it
as numba lays them out, which is checked when code is kept; where it differs, or on another machine than
those this was tried on, numba loads the code as before. Named tuples are handed over by their address,
so kernels come from :func:`ioopt.compiled.compiled`, whose reference counting is off.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ioopt.compiled import KERNEL_ROOMS, compiled, is_kept, source_stamp

UNUSED = frozenset(
    "numba_" + name
    for name in (
        "do_raise",
        "gil_ensure",
        "gil_release",
        "runtime_build_excinfo_struct",
        "unpickle",
    )
)
"""Of numba's own functions those that only its wrappers for Python call, which nobody calls here."""
RESULTS = {"none": None, "bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}


class Code(NamedTuple):
    """Machine code of a kernel: its addresses, in C and in numba's own calls, what it returns, and how
    many addresses make a function that is an argument."""

    native: int
    wrapper: int
    result: str
    pointers: int


class Direct:
    """Function *name* of kernel module *module*: machine code, called by its address.

    Arguments are named tuples, arrays, records, numbers and :class:`Called`, another of these. All
    calls have arguments of the same types.
    """

    def __init__(self, module: str, name: str, whole: bool = False) -> None:
        self.module, self.name, self.whole = module, name, whole
        self.code: Code | None = None

    @cached_property
    def numba(self) -> Any:
        """numba's function, which compiles."""
        return compiled(self.module, self.name, self.whole)

    def kept(self) -> bool:
        """Whether machine code stands ready, on disk or here."""
        return self.code is not None or self.stored() or is_kept(self.numba)

    def stored(self) -> bool:
        """Whether object code stands on disk for this machine; numba is not loaded."""
        return tried() and any(self._files())

    def loaded(self, *arguments: Any) -> Code:
        """Its code for *arguments*: linked, loaded by numba, or compiled."""
        if self.code is None:
            self.code = self._linked(arguments) or self._made(arguments)
        return self.code

    def __call__(self, *arguments: Any) -> Any:
        """Run it; raises ArithmeticError where it ends in an error."""
        code = self.loaded(*arguments)
        kept: list[Any] = []
        given = [part for value in arguments for part in _handed(value, kept, code.pointers)]
        result, error = ctypes.c_int64(0), ctypes.c_void_p()
        call = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *map(type, given)
        )(code.native)
        status = call(ctypes.addressof(result), ctypes.addressof(error), *given)
        if status not in (0, -2):
            raise ArithmeticError(f"machine code of {self.name} ended with status {status}")
        kind = RESULTS[code.result]
        return None if kind is None else kind.from_buffer(result).value

    @property
    def _folder(self) -> Path:
        return Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__")

    @property
    def _stem(self) -> str:
        stamp = f"{__file__} {source_stamp(*KERNEL_ROOMS)} {sys.version_info[:2]}"
        return f"{self.module}.{self.name}-{_hash(stamp)}-"

    def _file(self, arguments: tuple[Any, ...]) -> Path:
        shapes = " ".join(map(_shape, arguments))
        return self._folder / f"{self._stem}{_hash(_machine())}-{_hash(shapes)}"

    def _files(self) -> Iterator[Path]:
        """Those with code of today's files for this machine; LLVM is loaded only where there are any."""
        for file in self._folder.glob(self._stem + "*"):
            with suppress(OSError, ValueError), file.open("rb") as text:
                told = json.loads(text.readline())
                here = file.name.startswith(f"{self._stem}{_hash(_machine())}-")
                if here and told["stamp"] == source_stamp(*map(Path, told["others"])):
                    yield file

    def _linked(self, arguments: tuple[Any, ...]) -> Code | None:
        if not tried() or self._file(arguments) not in self._files():
            return None
        head, _, code = self._file(arguments).read_bytes().partition(b"\n")
        return _link(code, json.loads(head))

    def _made(self, arguments: tuple[Any, ...]) -> Code:
        """numba's code for *arguments*, which is kept for the next process."""
        from numba.core import types

        kinds = tuple(map(_type, arguments))
        function = self.numba
        function.compile(kinds)
        made = function.overloads[kinds]
        names = made.fndesc.llvm_func_name, made.fndesc.llvm_cfunc_wrapper_name
        native, wrapper = map(made.library.get_pointer_to_function, names)
        result = str(made.signature.return_type)
        called = next((kind for kind in kinds if isinstance(kind, types.FunctionType)), None)
        context = made.target_context
        width = 0 if called is None else len(context.get_value_type(called).elements)
        if tried() and all(map(_same_layout, arguments, kinds, [context] * len(kinds))):
            with suppress(OSError, AttributeError, KeyError, TypeError):
                self._keep(arguments, kinds, names, result, width)
        return Code(native, wrapper, result, width)

    def _keep(
        self,
        arguments: tuple[Any, ...],
        kinds: tuple[Any, ...],
        names: tuple[str, str],
        result: str,
        width: int,
    ) -> None:
        """Write the object code that numba keeps under its own key, if nothing else calls for numba."""
        import llvmlite.binding as llvm

        stored, context = self.numba._cache, self.numba.targetctx
        (_, kind, (code, bitcode)), *_ = stored._cache_file.load(
            stored._index_key(kinds, context.codegen())
        )
        asks = {f.name for f in llvm.parse_bitcode(bitcode).functions if f.is_declaration}
        asks = {name for name in asks if not name.startswith("llvm.")}
        if kind != "object" or any(_address(name) is None for name in asks - UNUSED):
            return
        others = [str(place) for place in self.numba.others]
        told = {"names": names, "result": result, "pointers": width, "asks": sorted(asks),
                "others": others, "stamp": source_stamp(*map(Path, others))}  # fmt: skip
        file = self._file(arguments)
        self._folder.mkdir(parents=True, exist_ok=True)
        for old in self._folder.glob(f"{self.module}.{self.name}-*"):
            if not old.name.startswith(self._stem) and not os.environ.get("NUMBA_CACHE_DIR"):
                old.unlink(missing_ok=True)
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_bytes(json.dumps(told).encode() + b"\n" + code)
        draft.replace(file)


class Called(NamedTuple):
    """A kernel that is an argument of another, which calls it with arguments such as these."""

    kernel: Direct
    arguments: tuple[Any, ...]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:24]


def tried() -> bool:
    """Whether LLVM is here, and this a machine on which code without numba was tried."""
    with suppress(ImportError):
        import_module("llvmlite.binding")
        return sys.platform == "linux" and platform.machine() == "x86_64"
    return False


_ENGINES: list[Any] = []


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    with suppress(RuntimeError):  # newer versions need no such call, and say so
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _machine() -> str:
    """What machine code depends on."""
    llvm = _llvm()
    told = [os.environ.get(f"NUMBA_{name}", "") for name in ("CPU_NAME", "CPU_FEATURES", "OPT")]
    features = llvm.get_host_cpu_features().flatten()
    return " ".join([llvm.__name__, *map(str, llvm.llvm_version_info), llvm.get_process_triple(),
                     llvm.get_host_cpu_name(), features, *told])  # fmt: skip


def _address(name: str) -> int | None:
    """Where the function *name* stands; of numba's that of the C library which it calls."""
    found: int | None = _llvm().address_of_symbol(name)
    if not found:
        own = getattr(ctypes.CDLL(None), name.removeprefix("numba_"), None)
        found = own and ctypes.cast(own, ctypes.c_void_p).value
    return found


def _link(code: bytes, told: dict[str, Any]) -> Code | None:
    llvm = _llvm()
    for name in told["asks"]:
        found = _address("abort" if name in UNUSED else name)
        if not found:
            return None
        if not llvm.address_of_symbol(name):
            llvm.add_symbol(name, found)
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    native, wrapper = map(engine.get_function_address, told["names"])
    return Code(native, wrapper, told["result"], told["pointers"])


def _is_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields") and not isinstance(value, Called)


def _shape(value: Any) -> str:
    """The type of an argument as text."""
    if isinstance(value, Called):
        return f"-> {' '.join(map(_shape, value.arguments))}"
    if _is_tuple(value):
        return f"{type(value).__name__}({' '.join(map(_shape, value))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.descr} {value.ndim} {value.flags.num}"
    if isinstance(value, np.void):
        return str(value.dtype.descr)
    return type(value).__name__


def _type(value: Any) -> Any:
    """The type of an argument for numba."""
    from numba import typeof, types

    if isinstance(value, Called):
        return types.FunctionType(types.void(*map(_type, value.arguments)))
    if _is_tuple(value):
        reference: Callable[..., Any] = import_module("ioopt.compiled.by_reference").Reference
        return reference(typeof(value))
    return typeof(value)


def _same_layout(value: Any, kind: Any, context: Any) -> bool:
    if not _is_tuple(value):
        return True
    return bool(
        context.get_abi_sizeof(context.get_value_type(kind.target)) == len(_packed(value, []))
    )


_FORMATS = {bool: "?", int: "q", float: "d"}


def _flat(value: Any, kept: list[Any]) -> tuple[str, list[Any]]:
    """Letters of :mod:`struct` for *value* as it stands in a tuple, and the numbers."""
    if _is_tuple(value):
        letters, numbers = "0q", []
        for part in value:
            more, values = _flat(part, kept)
            letters += more
            numbers += values
        return letters + "0q", numbers
    if isinstance(value, np.ndarray):
        kept.append(value)
        head = [0, 0, value.size, value.itemsize, value.ctypes.data]
        return "PPqqP" + 2 * value.ndim * "q", [*head, *value.shape, *value.strides]
    return _FORMATS[type(value)], [value]


def _packed(value: Any, kept: list[Any]) -> bytes:
    letters, numbers = _flat(value, kept)
    return struct.pack("@" + letters, *numbers)


def _handed(value: Any, kept: list[Any], pointers: int) -> list[Any]:
    """*value* as numba's functions take it; what must live as long as the call goes into *kept*."""
    if isinstance(value, Called):
        code = value.kernel.loaded(*value.arguments)
        addresses = code.wrapper, 0, code.native
        return [ctypes.c_void_p(address) for address in addresses[:pointers]]
    if _is_tuple(value):
        block = ctypes.create_string_buffer(_packed(value, kept))
        kept.append(block)
        return [ctypes.c_void_p(ctypes.addressof(block))]
    if isinstance(value, np.ndarray):
        return [ctypes.c_int64(number) for number in _flat(value, kept)[1]]
    if isinstance(value, np.void):
        kept.append(value)
        return [ctypes.c_void_p(value.__array_interface__["data"][0])]
    return [ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)]
