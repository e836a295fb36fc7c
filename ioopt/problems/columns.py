"""Hold the jobs of a problem as columns, and make their records on demand.

Columns take a tenth of the memory of records. Families derive a class from
:class:`Columns` (:mod:`~ioopt.problems.batch_jobs`, :mod:`~ioopt.problems.gang_jobs`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, get_args, overload

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from pydantic import TypeAdapter

from ioopt.arrays import Floats
from ioopt.problems.base import ROWS_AT_ONCE, HeldAsColumns, JobId, Json, Record
from ioopt.problems.job_columns import joined

RecordT = TypeVar("RecordT", bound=Record)
UNUSUAL = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
"""Errors of :meth:`Columns.read` for rows that only their records can judge."""


class Objects:
    """The objects of a JSON list, from which columns are taken.

    ``keys`` is the number of keys taken so far. It equals the number of keys in the
    text only if no key is unknown and none is repeated in one object. ``truths`` is the
    number of truth values among the values taken.
    """

    def __init__(self, rows: Sequence[Json]) -> None:
        self.rows = rows
        self.keys = 0
        self.truths = 0
        self._all_keys = sum(map(len, rows))

    def take(self, name: str) -> list[Any]:
        """Return the values of a key that every row has.

        Raises KeyError if a row lacks the key.
        """
        found = [row[name] for row in self.rows]
        self.keys += len(found)
        return found

    def take_truths(self, name: str) -> list[bool]:
        """Return the values of a key that every row has. Raises TypeError if one is no
        truth value.
        """
        found = self.take(name)
        if not set(map(type, found)) <= {bool}:
            raise TypeError(f"{name}: not only truth values")
        self.truths += len(found)
        return found

    def take_optional(self, name: str, default: object = None) -> list[Any]:
        """Return the values of a key that rows may lack; there they are *default*."""
        if self.keys == self._all_keys:
            return [default] * len(self.rows)
        self.keys += sum(name in row for row in self.rows)
        return [row.get(name, default) for row in self.rows]


class Columns(HeldAsColumns, Sequence[RecordT], Generic[RecordT]):
    """A sequence of records that are held as columns.

    It equals the tuple of its records and has the same hash. One record is made when it
    is asked for; all are made and kept when they are asked for as a whole, such as by a
    loop. Derived classes are dataclasses whose fields are the columns: arrays or lists.
    """

    RECORD: type[RecordT]

    @classmethod
    @abstractmethod
    def read(cls, rows: Objects) -> Self:
        """Return the columns of *rows*, which are JSON objects.

        The values are those that a record takes, of the usual types. Raises one of
        ``UNUSUAL`` for any other value, which need not be wrong. Truth values, which
        numpy takes for numbers, are counted by the caller.
        """

    @classmethod
    @abstractmethod
    def of_records(cls, records: Sequence[RecordT]) -> Self:
        """Return the columns of *records*."""

    @abstractmethod
    def rows(self, first: int, last: int) -> list[Json]:
        """Return the records from *first* to *last* - 1 as JSON objects."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of records."""

    @classmethod
    def of(cls, records: Sequence[RecordT]) -> Self:
        """Return *records* as columns."""
        return records if isinstance(records, cls) else cls.of_records(records)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the records of all *parts*, one part after the other."""
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        columns = ([getattr(part, name) for part in parts] for name in names)
        return cls(*map(joined, columns))

    @cached_property
    def records(self) -> tuple[RecordT, ...]:
        """Return all records."""
        made = TypeAdapter(list[self.RECORD])  # type: ignore[name-defined]
        found: list[RecordT] = []
        for first in range(0, len(self), ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, len(self))
            found += made.validate_python(self.rows(first, last))
        return tuple(found)

    @overload
    def __getitem__(self, place: int) -> RecordT: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RecordT]: ...
    def __getitem__(self, place: int | slice) -> RecordT | Sequence[RecordT]:
        """Return one record, or a tuple of them."""
        if isinstance(place, slice) or "records" in self.__dict__:
            return self.records[place]
        k = range(len(self))[place]
        return self.RECORD.model_validate(self.rows(k, k + 1)[0])

    def __iter__(self) -> Iterator[RecordT]:
        return iter(self.records)

    def __add__(self, other: tuple[RecordT, ...]) -> tuple[RecordT, ...]:
        return self.records + other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Columns):
            other = other.records
        return self.records == other

    def __hash__(self) -> int:
        return hash(self.records)

    def __getstate__(self) -> Json:
        """Return the columns without the records that were made."""
        return {key: part for key, part in self.__dict__.items() if key != "records"}

    def __repr__(self) -> str:
        return repr(self.records)


def numbers(form: object, values: list[Any]) -> NDArray[Any]:
    """Return *values* as an array; *form* is the type of such a field, such as
    ``base.Seconds``.

    Raises ValueError if a value is not a number within the limits of *form*. Whole
    numbers need to be written without a decimal point.
    """
    plain, field, *_ = get_args(form)
    found = np.array(values) if values else np.zeros(0, plain)
    if found.ndim != 1 or found.dtype.kind not in ("i" if plain is int else "fi"):
        raise ValueError("not only numbers of the usual form")
    if plain is float:
        found = found.astype(float)
    for limit in field.metadata:
        if isinstance(limit, Ge) and not (found >= limit.ge).all():
            raise ValueError(f"a number is less than {limit.ge}")
        if isinstance(limit, Le) and not (found <= limit.le).all():
            raise ValueError(f"a number is more than {limit.le}")
    return found


def labels(form: Any, values: list[Any]) -> list[Any]:
    """Return *values*, each None or of the type *form*; raises ValueError for any
    other.
    """
    if values.count(None) == len(values):
        return values
    found: list[Any] = TypeAdapter(list[form | None]).validate_python(values)
    return found


def reals_or_nan(form: object, values: list[Any]) -> Floats:
    """Return *values* as an array, with NaN for None; *form* is the type of the others.

    Raises ValueError as :func:`numbers` does.
    """
    numbers(form, [value for value in values if value is not None])
    return np.array(values, float)


def names(values: list[Any]) -> list[Any]:
    """Return *values*, the ids of records.

    Raises ValueError if one is no id, or if some are numbers and others text.
    """
    if len(set(map(type, values))) > 1:
        raise ValueError("ids mix numbers and text")
    found: list[Any] = TypeAdapter(list[JobId]).validate_python(values)
    return found


def are_unique(values: Sequence[Hashable]) -> bool:
    """Return whether no value occurs twice."""
    return len(set(values)) == len(values)
