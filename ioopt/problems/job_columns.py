"""Hold the rows ``schedule.jobs`` of batch I/O as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from ioopt.arrays import Flags, Floats, Ints
from ioopt.problems.base import JobId, Json, Rows

NO_NODE = -(1 << 62)
"""The ``first_node`` of a job that has none."""


@dataclass(frozen=True, eq=False)
class JobColumns(Rows):
    """Jobs of a schedule with their I/O requests and the rates of these, as columns.

    The requests of job k are those from ``offset[k]`` to ``offset[k + 1] - 1``, and the
    spans of request r those from ``edges[r]`` to ``edges[r + 1] - 1``. Times are in
    seconds, rates in bytes per second. A ``grant`` or a ``finish`` that did not happen
    is NaN. ``first_node`` is ``NO_NODE`` where a job has none. ``nodes`` are the
    numbers of a job's nodes; None where jobs list none. ``timed`` tells which requests
    state rates. A row of ``spans`` has the numbers since, until and rate.
    """

    ids: Sequence[JobId]
    start: Floats
    end: Floats
    killed: Flags
    allocated: Sequence[object]
    first_node: Ints
    nodes: Sequence[Sequence[int] | None] | None
    offset: Ints
    phase: Ints
    request: Floats
    grant: Floats
    finish: Floats
    timed: Flags
    edges: Ints
    spans: Floats

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def owner(self) -> Ints:
        """Return the number of the job of each request."""
        return np.repeat(np.arange(len(self)), np.diff(self.offset))

    @property
    def since(self) -> Floats:
        """Return the start of each span, in seconds."""
        return self.spans[:, 0]

    @property
    def until(self) -> Floats:
        """Return the end of each span, in seconds."""
        return self.spans[:, 1]

    @property
    def rate(self) -> Floats:
        """Return the rate during each span, in bytes per second."""
        return self.spans[:, 2]

    def taken(self, places: Ints) -> JobColumns:
        """Return the rows at *places*, in that order."""
        offset, requests = parts_taken(self.offset, places)
        edges: Ints = np.broadcast_to(np.int64(0), len(requests) + 1)
        spans: Ints = np.zeros(0, np.int64)
        if len(self.spans):
            edges, spans = parts_taken(self.edges, requests)
        nodes = self.nodes
        return replace(
            self,
            ids=[self.ids[k] for k in places],
            start=self.start[places],
            end=self.end[places],
            killed=self.killed[places],
            allocated=[self.allocated[k] for k in places],
            first_node=self.first_node[places],
            nodes=None if nodes is None else [nodes[k] for k in places],
            offset=offset,
            phase=self.phase[requests],
            request=self.request[requests],
            grant=self.grant[requests],
            finish=self.finish[requests],
            timed=self.timed[requests],
            edges=edges,
            spans=self.spans[spans],
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all *parts*, one part after the other."""
        found: Json = {}
        for name in [field.name for field in fields(cls)]:
            columns = [getattr(part, name) for part in parts]
            if name in ("offset", "edges"):
                found[name] = offsets(np.concatenate([*map(np.diff, columns)]))
            elif name == "nodes" and None in columns:
                found[name] = None
            else:
                found[name] = joined(columns)
        return cls(**found)

    def equals(self, other: Rows) -> bool:
        """Return whether the rows of *other* are the same."""
        if not isinstance(other, JobColumns):
            return super().equals(other)
        for name in [field.name for field in fields(self)]:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, np.ndarray):
                real = mine.dtype.kind == "f"
                if not np.array_equal(mine, theirs, equal_nan=real):
                    return False
            elif mine is not theirs and [*(mine or ())] != [*(theirs or ())]:
                return False
        return True

    def rows(self, first: int = 0, last: int | None = None) -> list[Json]:
        """Return the rows from *first* to *last* - 1 as dictionaries."""
        if last is None:
            last = len(self)
        jobs = slice(first, last)
        nodes = self.first_node[jobs].tolist()
        places = [None if node == NO_NODE else node for node in nodes]
        found: list[Json] = []
        records = self._records(int(self.offset[first]), int(self.offset[last]))
        at = 0
        counts = np.diff(self.offset[first : last + 1]).tolist()
        for k, start, end, killed, place, count in zip(
            range(first, last),
            self.start[jobs].tolist(),
            self.end[jobs].tolist(),
            self.killed[jobs].tolist(),
            places,
            counts,
        ):
            row: Json = {
                "id": self.ids[k],
                "start_seconds": start,
                "end_seconds": end,
                "killed": killed,
                "allocated_nodes": self.allocated[k],
                "first_node": place,
                "io": records[at : at + count],
            }
            at += count
            if self.nodes is not None:
                row["nodes"] = self.nodes[k]
            found.append(row)
        return found

    def _records(self, first: int, last: int) -> list[Json]:
        """Return the requests from *first* to *last* - 1 as dictionaries."""
        if first == last:
            return []
        requests = slice(first, last)
        grants, finishes = (
            [time if time == time else None for time in column.tolist()]  # not NaN
            for column in (self.grant[requests], self.finish[requests])
        )
        found: list[Json] = [
            {
                "phase": phase,
                "request_seconds": request,
                "first_grant_seconds": grant,
                "finish_seconds": finish,
            }
            for phase, request, grant, finish in zip(
                self.phase[requests].tolist(),
                self.request[requests].tolist(),
                grants,
                finishes,
            )
        ]
        if not self.timed[requests].any():
            return found
        edges = self.edges[first : last + 1]
        spans = slice(int(edges[0]), int(edges[-1]))
        triples = self.spans[spans].tolist()
        places = (edges - edges[0]).tolist()
        timed = self.timed[requests].tolist()
        for k, record in enumerate(found):
            if timed[k]:
                record["rates"] = triples[places[k] : places[k + 1]]
        return found


def offsets(counts: Sequence[int] | Ints) -> Ints:
    """Return the running totals of *counts*, from 0."""
    found = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def joined(parts: Sequence[Any]) -> Any:
    """Return the items of *parts*, arrays or lists, one part after the other."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [*chain.from_iterable(parts)]


ITEMS_AT_ONCE = 1 << 18
"""Number of items of columns, such as phases, of which most temporary columns are
made.
"""


def blocks(offset: Sequence[int] | Ints) -> Iterator[slice]:
    """Yield the parts in blocks of some hundred thousand items; part k has the items
    from ``offset[k]`` on.
    """
    last = len(offset) - 1
    edges = np.asarray(offset)
    first = 0
    while first < last:
        stop = int(np.searchsorted(edges, edges[first] + ITEMS_AT_ONCE, side="right"))
        stop = min(max(first + 1, stop - 1), last)
        yield slice(first, stop)
        first = stop


def parts_taken(offset: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """Return, for the *chosen* parts one after the other, where each begins, and the
    indices of their items. Part k has the items from ``offset[k]`` on.
    """
    counts = np.diff(offset)[chosen]
    first = offsets(counts)
    shift = np.repeat(offset[chosen] - first[:-1], counts)
    return first, np.arange(first[-1]) + shift
