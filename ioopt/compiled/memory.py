"""Hold the numbers of a kernel as Python objects, or in memory that C code shares.

A kernel is written over records (classes whose fields are all numbers), tables (classes
that also have lists and records as fields), and lists of numbers and of records.
:class:`Plain` makes them as Python objects and calls the kernel itself.
:class:`Machine` makes them as C structs and calls what was compiled from the same text
at installation. Both are used alike; a kernel takes what the same maker made.

>>> from dataclasses import dataclass
>>> @dataclass
... class Node:
...     speed: float
...     tasks: int
>>> nodes = Plain().records(Node, 2, speed=[1.0, 2.0])
>>> nodes[1]
Node(speed=2.0, tasks=0)
"""

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, wraps
from typing import (
    Annotated,
    Any,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

ParametersT = ParamSpec("ParametersT")
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
NumberT = TypeVar("NumberT", int, float, bool)

Int32 = Annotated[int, ctypes.c_int32]
"""A whole number that C keeps in 4 bytes."""
Int8 = Annotated[int, ctypes.c_int8]
"""A whole number that C keeps in 1 byte."""

Column = Iterable[int] | Iterable[float] | int | float
"""The values of a field: one for each record, or one for all."""


class Maker(Protocol):
    """What :class:`Plain` and :class:`Machine` offer."""

    compiled: bool
    """Whether it runs machine code."""
    times: float
    """How many times as fast a kernel runs as in plain Python, about."""

    def records(
        self, kind: type[ItemT], count: int, /, **columns: Column
    ) -> list[ItemT]:
        """Return *count* records whose fields are *columns*; missing fields are 0."""

    def ints(self, values: Iterable[int]) -> list[int]:
        """Return a list of whole numbers. A numpy array may be shared, not copied."""

    def floats(self, values: Iterable[float]) -> list[float]:
        """Return a list of floats. A numpy array may be shared, not copied."""

    def flags(self, values: Iterable[bool]) -> list[bool]:
        """Return a list of bools. A numpy array may be shared, not copied."""

    def table(self, kind: type[ItemT], /, **given: object) -> ItemT:
        """Return a table with the fields *given*. Lists, records and tables among them
        were made by this maker; numbers that are missing are 0.
        """

    def has(self, text: Callable[..., object]) -> bool:
        """Return whether :meth:`function` can return what runs *text*."""

    def function(
        self, text: Callable[ParametersT, ResultT]
    ) -> Callable[ParametersT, ResultT]:
        """Return what runs the kernel *text* on what this maker made.

        It can be a parameter of another such function.
        """


class Plain:
    """Make Python objects, and run the text of a kernel itself."""

    compiled = False
    times = 1.0

    def records(
        self, kind: type[ItemT], count: int, /, **columns: Column
    ) -> list[ItemT]:
        """Return *count* records as a list of objects."""
        key: Any = kind
        _require_fields(key, columns)
        whole: list[Sequence[int | float]] = []
        for name, field in fields_of(key).items():
            assert isinstance(field, NumberField)
            column = columns.get(name, field.zero)
            values: Sequence[int | float]
            if not isinstance(column, Iterable):
                values = [column] * count
            elif isinstance(column, np.ndarray):
                values = column.tolist()
            elif isinstance(column, (list, tuple)):
                values = column
            else:
                values = [*column]
            if len(values) != count:
                raise ValueError(f"{kind.__name__}.{name}: not {count} values")
            whole.append(values)
        return list(map(kind, *whole))

    def ints(self, values: Iterable[int]) -> list[int]:
        """Return a list of whole numbers."""
        return _listed(values)

    def floats(self, values: Iterable[float]) -> list[float]:
        """Return a list of floats."""
        return _listed(values)

    def flags(self, values: Iterable[bool]) -> list[bool]:
        """Return a list of bools."""
        return _listed(values)

    def table(self, kind: type[ItemT], /, **given: object) -> ItemT:
        """Return a table."""
        return kind(**_with_zeros(kind, given))

    def has(self, text: Callable[..., object]) -> bool:
        """Return True."""
        return True

    def function(
        self, text: Callable[ParametersT, ResultT]
    ) -> Callable[ParametersT, ResultT]:
        """Return *text*."""
        return text


class Machine:
    """Make C structs, and run what *library* has compiled from the text of a kernel.

    A list of records is an array of ctypes structs: ``nodes[1].speed`` reads and
    changes the number that C code sees.
    """

    compiled = True
    times = 20.0

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def records(
        self, kind: type[ItemT], count: int, /, **columns: Column
    ) -> list[ItemT]:
        """Return *count* records as an array of structs. Raises OverflowError for a
        number that is too large.
        """
        key: Any = kind
        struct = struct_of(key)
        _require_fields(kind, columns)
        laid = np.zeros(count, _dtype_of(struct))
        for name, column in columns.items():
            field = f"{kind.__name__}.{name}"
            given = column
            if not isinstance(column, (int, float, Sequence, np.ndarray)):
                given = list(column)
            stored = laid.dtype[name]
            real = stored.kind == "f"
            # Floats need no check, and are read faster where their type is said.
            values = np.asarray(given, stored if real else None)
            if values.shape not in ((), (count,)):
                raise ValueError(f"{field}: not {count} values")
            laid[name] = values.astype(stored, copy=False)
            if real:
                continue
            wrong = np.broadcast_to(values, count)[laid[name] != values]
            if wrong.size:
                raise OverflowError(f"{field}: {wrong[0]} is too large")
        return cast("list[ItemT]", (struct * count).from_buffer(laid))

    def ints(self, values: Iterable[int]) -> list[int]:
        """Return an array of whole numbers; it has the items and the length of a list,
        and cannot grow.
        """
        return cast("list[int]", _stored(values, ctypes.c_int64))

    def floats(self, values: Iterable[float]) -> list[float]:
        """Return an array of floats."""
        return cast("list[float]", _stored(values, ctypes.c_double))

    def flags(self, values: Iterable[bool]) -> list[bool]:
        """Return an array of bools, each 0 or 1."""
        return cast("list[bool]", _stored(values, ctypes.c_uint8))

    def table(self, kind: type[ItemT], /, **given: object) -> ItemT:
        """Return a struct with the addresses of what is *given*.

        It also keeps the objects themselves under the names of the fields.
        """
        key: Any = kind
        whole = _with_zeros(key, given)
        laid: list[Any] = []
        for name, field in fields_of(key).items():
            value: Any = whole.get(name)
            if isinstance(field, NumberField):
                laid.append(value)
                continue
            if isinstance(field, ListField):
                wanted = field.item
                given_type = getattr(value, "_type_", None)
            else:
                wanted = field.struct
                given_type = type(value)
            if given_type is not wanted:
                raise TypeError(f"{kind.__name__}.{name}: not of {wanted.__name__}")
            laid.append(ctypes.addressof(value))
            if isinstance(field, ListField):
                laid.append(len(value))
        made = _checked(struct_of(key), laid)
        for name, field in fields_of(key).items():
            if not isinstance(field, NumberField):
                vars(made)[name] = whole[name]
        return cast("ItemT", made)

    def has(self, text: Callable[..., object]) -> bool:
        """Return whether *text* is a function of ioopt that was compiled.

        What :func:`functools.wraps` made of one has its name, but is another function.
        """
        ours = getattr(text, "__module__", "").startswith("ioopt.")
        if not ours or hasattr(text, "__wrapped__"):
            return False
        return hasattr(self._library, _name_in_c(text))

    def function(
        self, text: Callable[ParametersT, ResultT]
    ) -> Callable[ParametersT, ResultT]:
        """Return the C function that was compiled from *text*."""
        compiled: Any = self._library[_name_in_c(text)]
        hints = get_type_hints(text, include_extras=True)
        result = hints.pop("return")
        compiled.argtypes = [_passed(hint) for hint in hints.values()]
        if get_origin(result) is tuple:
            items = get_args(result)
            compiled.restype = _tuple_of(items)
            names = [name for name, _ in compiled.restype._fields_]

            @wraps(text)
            def several(*given: ParametersT.args, **named: ParametersT.kwargs) -> Any:
                found = compiled(*given)
                return tuple(getattr(found, name) for name in names)

            return several
        if result is type(None):
            compiled.restype = None
        elif result is bool:
            compiled.restype = ctypes.c_int64

            @wraps(text)
            def whether(*given: ParametersT.args, **named: ParametersT.kwargs) -> Any:
                return compiled(*given) != 0

            return whether
        else:
            compiled.restype = C_NUMBERS[result]
        return cast("Callable[ParametersT, ResultT]", compiled)


def _name_in_c(text: Callable[..., object]) -> str:
    """Return the name of function *text* in C. That of a function within another
    function is none.
    """
    prefix = "_".join(text.__module__.split(".")[-2:])
    return f"{prefix}_{text.__qualname__}"


def _listed(values: Iterable[NumberT]) -> list[NumberT]:
    """Return *values* as a list, the numbers of a numpy array as Python's."""
    if isinstance(values, list):
        return values.copy()
    if isinstance(values, np.ndarray):
        listed: list[NumberT] = values.ravel().tolist()
        return listed
    return list(values)


def _stored(values: Iterable[int] | Iterable[float], kind: Any) -> Any:
    """Return *values* as an array of the ctypes type *kind*; a numpy array of that type
    that may be changed is shared.

    Raises OverflowError for a number that is too large; ctypes would cut it in silence.
    """
    if not isinstance(values, np.ndarray):
        given = values if isinstance(values, list) else list(values)
        values = np.array(given, np.dtype(kind))
    laid = np.require(values, np.dtype(kind), ["C", "W"])
    return (kind * laid.size).from_buffer(laid)


def _checked(struct: Any, values: Sequence[Any]) -> Any:
    """Return a *struct* of *values*.

    Raises OverflowError for a number that is too large; ctypes would cut it in silence.
    """
    made = struct(*values)
    for (name, _), value in zip(struct._fields_, values, strict=True):
        if getattr(made, name) != value:
            raise OverflowError(f"{struct.__name__}.{name}: {value} is too large")
    return made


def column(records: Sequence[object], name: str) -> list[Any]:
    """Return field *name* of *records*, which a maker made, as a list of numbers.

    A bool is 0 or 1 if it comes from C.
    """
    if isinstance(records, list):
        return [getattr(record, name) for record in records]
    stored: Any = records
    laid = np.frombuffer(stored, _dtype_of(stored._type_))
    values: list[Any] = laid[name].tolist()
    return values


def array_of(values: list[int] | list[float], count: int) -> Any:
    """Return the first *count* of *values*, which a maker made, as a numpy array."""
    if isinstance(values, list):
        return np.array(values[:count])
    return np.ctypeslib.as_array(values)[:count]


C_NUMBERS: Mapping[Any, Any] = {
    int: ctypes.c_int64,
    float: ctypes.c_double,
    bool: ctypes.c_uint8,
}


@dataclass(frozen=True)
class NumberField:
    """A field that is a number: its ctypes type, and the value it has by default."""

    stored: Any
    zero: int | float


@dataclass(frozen=True)
class ListField:
    """A field that is a list: the ctypes type of its items."""

    item: Any


@dataclass(frozen=True)
class ObjectField:
    """A field that is a record or a table: its ctypes struct."""

    struct: Any


Field = NumberField | ListField | ObjectField


@cache
def fields_of(kind: Any) -> Mapping[str, Field]:
    """Return the fields of a record or a table."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in fields(kind)]
    return {name: _field(hints[name]) for name in names}


def _field(hint: Any) -> Field:
    """Return the field that an annotation describes."""
    if hint in C_NUMBERS:
        return NumberField(C_NUMBERS[hint], hint())
    if get_origin(hint) is Annotated:
        _, stored = get_args(hint)
        return NumberField(stored, stored().value)
    if isinstance(get_origin(hint), type):
        (item,) = get_args(hint)
        described = _field(item)
        if isinstance(described, NumberField):
            return ListField(described.stored)
        assert isinstance(described, ObjectField), f"{hint}: a list of lists"
        return ListField(described.struct)
    return ObjectField(struct_of(hint))


@cache
def _dtype_of(struct: Any) -> Any:
    """Return the numpy type of records that are laid out as *struct*."""
    return np.dtype(struct)


def is_record(kind: type) -> bool:
    """Return whether all fields are numbers."""
    return all(isinstance(field, NumberField) for field in fields_of(kind).values())


@cache
def struct_of(kind: Any) -> Any:
    """Return the ctypes struct of a record or a table, laid out as in C."""
    # With a dot these names cannot be those of other fields.
    laid: list[tuple[str, Any]] = []
    record = is_record(kind)
    for name, field in fields_of(kind).items():
        if isinstance(field, NumberField):
            # In a table, a bool or a narrow number has 8 bytes.
            whole = field.stored is ctypes.c_double or record
            laid.append((name, field.stored if whole else ctypes.c_int64))
            continue
        laid.append((f"{name}.at", ctypes.c_void_p))
        if isinstance(field, ListField):
            laid.append((f"{name}.length", ctypes.c_int64))
    return type(kind.__name__, (ctypes.Structure,), {"_fields_": laid})


def _require_fields(kind: type, given: Mapping[str, object]) -> None:
    """Raise TypeError if *given* has a name that is no field of the record *kind*."""
    assert is_record(kind), f"{kind.__name__} is no record"
    if unknown := set(given) - set(fields_of(kind)):
        raise TypeError(f"{kind.__name__} has no field {min(unknown)}")


def _with_zeros(kind: type, given: Mapping[str, object]) -> dict[str, object]:
    """Return *given* with 0 for each number of a table that is missing."""
    return {**_zeros(kind), **given}


@cache
def _zeros(kind: type) -> Mapping[str, int | float]:
    """Return 0 for each number of a record or a table."""
    return {
        name: field.zero
        for name, field in fields_of(kind).items()
        if isinstance(field, NumberField)
    }


def _passed(hint: Any) -> Any:
    """Return the ctypes type in which a parameter is passed to C."""
    if hint in (int, bool):
        return ctypes.c_int64
    if hint is float:
        return ctypes.c_double
    if get_origin(hint) is Callable:
        return ctypes.c_void_p
    if get_origin(hint) is list:
        return ListParameter
    return ctypes.POINTER(struct_of(hint))


class ListParameter(ctypes.Structure):
    """The struct in which C gets a list: the address of its items, and its length."""

    _fields_ = (("at", ctypes.c_void_p), ("length", ctypes.c_int64))

    @classmethod
    def from_param(cls, values: Any) -> "ListParameter":
        """Return the struct of a list that a maker made."""
        return cls(ctypes.addressof(values), len(values))


@cache
def _tuple_of(items: tuple[Any, ...]) -> Any:
    """Return the struct in which C returns a tuple of numbers."""
    laid = [
        (f"v{k}", ctypes.c_double if item is float else ctypes.c_int64)
        for k, item in enumerate(items)
    ]
    return type("Tuple", (ctypes.Structure,), {"_fields_": laid})
