"""Base classes of all problems and plans, and checks that they share.

Their records are frozen and refuse unknown keys.
"""

import gc
import hashlib
from abc import ABC, abstractmethod
from collections.abc import (
    Callable,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from functools import partial, wraps
from graphlib import CycleError, TopologicalSorter
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    get_args,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import (
    no_info_wrap_validator_function,
    wrap_serializer_function_ser_schema,
)

from ioopt.units import whole

LARGEST = 10**18
"""Largest number in any instance. Real workloads stay far below, and nothing that is
computed from such numbers overflows.
"""
SMALLEST = 1e-12
"""Smallest rate, time or factor above 0; a number divided by it stays finite."""

LONGEST_SECONDS = 10**10
"""Longest time in seconds (317 years); differences of such times are exact to 2 us."""

_STRICT: dict[str, Any] = {"strict": True, "allow_inf_nan": False}
_NUMBER: dict[str, Any] = {"le": LARGEST, **_STRICT}
_ABOVE_0 = Field(ge=SMALLEST, **_NUMBER)
_FROM_0 = Field(ge=0, **_NUMBER)

Seconds = Annotated[float, Field(ge=0, le=LONGEST_SECONDS, **_STRICT)]
"""A time in seconds, 0 or more."""
PositiveSeconds = Annotated[float, Field(ge=SMALLEST, le=LONGEST_SECONDS, **_STRICT)]
"""A time in seconds, more than 0."""
BytesPerSecond = Annotated[float, _ABOVE_0]
"""A rate in bytes per second, more than 0."""
Positive = Annotated[float, _ABOVE_0]
"""A number more than 0."""
Amount = Annotated[float, _FROM_0]
"""A number (such as bytes that may be fractional), 0 or more."""
Real = Annotated[float, Field(ge=-LARGEST, **_NUMBER)]
"""A number of either sign."""
Whole = BeforeValidator(whole)
Count = Annotated[int, Field(ge=0, le=LARGEST, strict=True), Whole]
"""A whole number, 0 or more; it may be written ``8e9``."""
PositiveCount = Annotated[int, Field(ge=1, le=LARGEST, strict=True), Whole]
"""A whole number, 1 or more."""
Cores = Annotated[int, Field(ge=1, le=1 << 16, strict=True)]
"""Number of cores of a node or of a task. Simulators store a record for each core."""
MAX_NODES = 1 << 22
"""Largest number of nodes (or units) of a machine that stores data for each of them."""
NodeNumber = Annotated[int, Field(ge=0, lt=MAX_NODES, strict=True)]
"""The number of a node, column or row of a machine, counted from 0. Sets of such
numbers are stored as bits.
"""
Name = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
"""An identifier: text that is not empty."""
JobId = Annotated[int, Field(ge=-LARGEST, le=LARGEST, strict=True)] | Name
"""A job identifier: a whole number or text; one file uses only one of the two."""


KeyT = TypeVar("KeyT")
ProblemT = TypeVar("ProblemT", bound="Problem")
ValueT = TypeVar("ValueT")

SYNTHETIC_IO = "I/O is synthetic"
"""First words of the note in a result whose instance has invented I/O."""
OTHER_WAITS = "Waits are not those of the log"
"""First words of the note in a result whose instance replaces the queue of a log."""
Json = dict[str, Any]
"""An object of plain data as in a JSON file."""


class Record(BaseModel):
    """A frozen part of a problem or plan.

    Unknown keys, NaN and infinite numbers are refused. ``LEFT`` has keys that only
    earlier versions of ioopt read, each with a text that tells the user what to do.
    """

    LEFT: ClassVar[Mapping[str, str]] = {}

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True
    )


class HeldAsColumns(ABC):
    """Base of sequences of records that are held as columns
    (:mod:`ioopt.problems.columns`). ``RECORD`` is the class of the records.
    """

    RECORD: "type[Record]"

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Yield the records."""

    @abstractmethod
    def fit(self, machine: Any) -> bool:
        """Return whether the records make a valid problem of *machine*."""


class Columnar:
    """Annotation of a field that is a tuple of records, or their columns, which were
    tested before and are not validated again.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of tuples of the same records, around which columns
        pass.
        """
        (record,) = get_args(source)
        records = handler.generate_schema(tuple[record, ...])  # type: ignore[valid-type]
        return no_info_wrap_validator_function(
            partial(_pass_columns, record),
            records,
            serialization=wrap_serializer_function_ser_schema(
                _write_columns, schema=records
            ),
        )


def _pass_columns(
    record: type[Record], value: object, validate: Callable[[object], object]
) -> object:
    if isinstance(value, HeldAsColumns):
        return value if value.RECORD is record else validate([*value])
    return validate(value)


def _write_columns(records: Iterable[object], write: Callable[[object], Json]) -> Json:
    return write(tuple(records))


class Numerous(Record):
    """Base of records that are created in millions.

    Each pydantic record has the set of the names of the fields that were given. Records
    of this class with equal sets share one set, because a set of five names takes 728
    bytes, more than the fields of the record.
    """

    @model_validator(mode="after")
    def _share_names(self) -> Self:
        given = self.__pydantic_fields_set__
        shared = _GIVEN_NAMES.setdefault(frozenset(given), given)
        object.__setattr__(self, "__pydantic_fields_set__", shared)
        return self


_GIVEN_NAMES: dict[frozenset[str], set[str]] = {}


class Lean(Record):
    """Base of records that do not write all default values.

    ``LATER`` has the keys that older files lack. Such a key is written only if its
    value differs from the default.
    """

    LATER: ClassVar[frozenset[str]] = frozenset()

    model_config = ConfigDict(serialize_by_alias=True)

    @model_serializer(mode="wrap")
    def _lean(self, write: SerializerFunctionWrapHandler) -> Json:
        fields = type(self).model_fields
        silent = {
            fields[name].alias or name
            for name in self.LATER
            if getattr(self, name) == fields[name].default
        }
        written: Json = write(self)
        return {key: value for key, value in written.items() if key not in silent}


class Plan(Record):
    """The decisions of a solver; names of items are those of the instance."""

    def to_dict(self) -> Json:
        """Return the plan as plain JSON values."""
        return self.model_dump(mode="json")


class Problem(Record):
    """Base of all instances, with a version, a name and provenance in free form."""

    version: Literal[1] = 1
    name: Name = "unnamed"
    meta: Json | None = None

    def __repr__(self) -> str:
        """Return the class, the name, and the length of each list of items with ids."""
        counts: list[str] = []
        for field in type(self).model_fields:
            items = getattr(self, field)
            listed = isinstance(items, (tuple, HeldAsColumns))
            if listed and items and hasattr(items[0], "id"):
                counts.append(_how_many(len(items), field))
        told = f": {', '.join(counts)}" if counts else ""
        return f"<{type(self).__name__} {self.name}{told}>"

    __str__ = __repr__

    @property
    def digest(self) -> str:
        """Return the SHA-256 of what the instance says; its ``meta`` does not count."""
        content = self.model_dump_json(exclude={"meta"}).encode()
        return hashlib.sha256(content).hexdigest()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the lines of ``meta.warnings``.

        They tell what the importer dropped, invented or scaled.
        """
        said = (self.meta or {}).get("warnings")
        if not isinstance(said, (list, tuple)):
            return ()
        return tuple(str(line) for line in said)

    @property
    def synthetic_notes(self) -> tuple[str, ...]:
        """Return the notes that results carry if I/O or waits were invented
        (``meta.synthetic``).

        Return an empty tuple if nothing was invented.
        """
        made = (self.meta or {}).get("synthetic")
        if not isinstance(made, Mapping):
            return ()
        first = {"I/O": SYNTHETIC_IO, "waits": OTHER_WAITS}
        return tuple(
            f"{words}: {made[key]}"
            for key, words in first.items()
            if isinstance(made.get(key), str)
        )


def once_a_problem(
    compute: Callable[[ProblemT], ValueT],
) -> Callable[[ProblemT], ValueT]:
    """Return *compute*, a function of a problem, so that it keeps the last problem with
    its value and does not compute this value again.
    """
    kept: list[tuple[ProblemT, ValueT]] = []

    @wraps(compute)
    def kept_or_computed(problem: ProblemT) -> ValueT:
        for known, value in kept:
            if known is problem:
                return value
        value = compute(problem)
        kept[:] = [(problem, value)]
        return value

    return kept_or_computed


def _how_many(count: int, items: str) -> str:
    """Return *count* with the name of a list, *items*, in singular or plural.

    >>> _how_many(1, "jobs"), _how_many(2, "jobs"), _how_many(1, "running")
    ('1 job', '2 jobs', '1 running')
    """
    name = items.removesuffix("s") if count == 1 else items
    return f"{count} {name}"


def first_repeated(items: Iterable[Hashable]) -> tuple[int, int] | None:
    """Return both positions of the first repeated value in *items*, or None.

    >>> first_repeated(["a", "b", "a"])
    (0, 2)
    """
    seen: dict[Hashable, int] = {}
    for position, item in enumerate(items):
        if item in seen:
            return seen[item], position
        seen[item] = position
    return None


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while many objects are created that stay in use."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def find_cycle(predecessors: Mapping[int, Iterable[int]]) -> list[int]:
    """Return the items of one cycle, or an empty list if there is none.

    *predecessors* has, for each item, the items that must come before it. In the cycle,
    an item stands before the item that waits for it.

    >>> find_cycle({0: [2], 1: [0], 2: [1], 3: [1]})
    [0, 1, 2]
    """
    if _can_be_sorted(predecessors):
        return []
    try:
        TopologicalSorter(predecessors).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]
        return cycle[:-1]
    return []


def _can_be_sorted(predecessors: Mapping[int, Iterable[int]]) -> bool:
    """Return whether the items have an order in which predecessors come first.

    This is five times as fast as a search for a cycle.
    """
    followers: dict[int, list[int]] = {item: [] for item in predecessors}
    waits = dict.fromkeys(predecessors, 0)
    for item, before in predecessors.items():
        for other in before:
            followers.setdefault(other, []).append(item)
            waits[item] += 1
    free = [item for item in followers if not waits.get(item)]
    for item in free:
        for follower in followers[item]:
            waits[follower] -= 1
            if not waits[follower]:
                free.append(follower)
    return len(free) == len(followers)


def require_unique(what: str, ids: Iterable[Hashable]) -> None:
    """Raise ValueError with both places if an id occurs twice in the list called
    *what*.
    """
    listed = list(ids)
    repeated = first_repeated(listed)
    if repeated is not None:
        first, second = repeated
        raise ValueError(
            f"{what}[{second}].id {listed[second]!r} is already the id of "
            f"{what}[{first}]"
        )


def require_known(where: str, name: KeyT, known: Container[KeyT], what: str) -> None:
    """Raise ValueError if *name* is not in *known*.

    The message says that the place *where* names an unknown *what*, such as a file.
    """
    if name not in known:
        raise ValueError(f"{where}: there is no {what} {name!r}")


def require_one_id_type(what: str, ids: Iterable[Hashable]) -> None:
    """Raise ValueError if some ids of the list called *what* are numbers and others
    text.
    """
    first = {isinstance(value, str): value for value in reversed([*ids])}
    if len(first) > 1:
        number, text = first[False], first[True]
        raise ValueError(
            f"{what}: ids {number!r} and {text!r} mix numbers and text; use one kind"
        )


ROWS_AT_ONCE = 1_000
"""Number of rows that :meth:`Rows.pieces` makes at a time."""


class Rows(ABC):
    """Rows of a schedule, such as ``schedule.jobs``, that are held as columns, which
    take a tenth of the memory of dictionaries.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def rows(self, first: int = 0, last: int | None = None) -> list[Json]:
        """Return the rows from *first* to *last* - 1 as dictionaries."""

    def pieces(self) -> Iterator[list[Json]]:
        """Yield the rows as dictionaries, some thousands at a time."""
        for first in range(0, len(self), ROWS_AT_ONCE):
            yield self.rows(first, min(first + ROWS_AT_ONCE, len(self)))

    @classmethod
    @abstractmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all *parts*, one part after the other."""

    def equals(self, other: "Rows") -> bool:
        """Return whether the rows of *other* are the same."""
        pairs = zip(self.pieces(), other.pieces())
        return len(self) == len(other) and all(mine == more for mine, more in pairs)

    def __iter__(self) -> Iterator[Json]:
        """Yield the rows as dictionaries."""
        for piece in self.pieces():
            yield from piece


def plain(schedule: Json) -> Json:
    """Return *schedule* with dictionaries in place of columns."""
    return {
        name: part.rows() if isinstance(part, Rows) else part
        for name, part in schedule.items()
    }
