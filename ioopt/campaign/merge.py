"""Merge the stores of the parts of a sweep into one store."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ioopt.campaign.store import COLUMNS, Store, StoreReader
from ioopt.errors import InstanceError, UsageError

NAMED = ("instance", "solver", "seed")
"""The columns that identify a run in messages."""


@dataclass(frozen=True)
class Merged:
    """The number of runs in a merged store, and the number of points of its grid."""

    runs: int
    points: int


def merge_stores(paths: Sequence[str], target: str, resume: bool = False) -> Merged:
    """Write the rows of the stores at *paths* into the store at *target*.

    *target* must be a new file unless *resume* is true. Equal rows with the same key
    are written once. Raises InstanceError, and writes nothing, when the stores are of
    different sweeps, or when rows with the same key differ.
    """
    campaign = _common_campaign(paths)
    for path in paths:
        if os.path.exists(target) and os.path.samefile(path, target):
            raise UsageError(f"{path}: cannot be merged into itself")
    is_new = not os.path.exists(target)
    with Store(target, must_be_new=not resume) as store:
        try:
            if store.done() and store.campaigns() != campaign:
                raise InstanceError(f"{target}: is of another sweep than {paths[0]}")
            with store.transaction():
                for grid, points in sorted(campaign):
                    store.begin(grid, points)
                for path in paths:
                    _copy(path, store, [*paths, target])
        except BaseException:
            if is_new:
                os.unlink(target)
            raise
        return Merged(len(store.done()), sum(points for _, points in campaign))


def _common_campaign(paths: Sequence[str]) -> set[tuple[str, int]]:
    """Return the grids that wrote to the stores, as (digest, number of points); raise
    InstanceError when the stores have different grids.
    """
    common: set[tuple[str, int]] = set()
    for path in paths:
        with StoreReader(path) as reader:
            found = reader.campaigns()
        if not found:
            raise InstanceError(
                f"{path}: does not say which sweep it is of (made by ioopt 0.2 or by "
                "a study); `ioopt plot` reads several stores together"
            )
        if common and found != common:
            raise InstanceError(
                f"{path}: is of another sweep than {paths[0]} (other instances, "
                "solvers, settings or version of ioopt)"
            )
        common = found
    return common


def _copy(path: str, store: Store, others: Sequence[str]) -> None:
    """Write the rows of the store at *path* to *store*; raise InstanceError for a row
    that differs from the row of another store with the same key.
    """
    with StoreReader(path) as reader:
        for cells in reader.cells():
            if store.add(cells):
                continue
            row = dict(zip(COLUMNS, cells))
            run = ", ".join(f"{name} {row[name]}" for name in NAMED)
            raise InstanceError(
                f"{path}: its run of {run} differs from the one in "
                f"{_holder(cells[0], path, others)}; merge only one of the two"
            )


def _holder(key: str, path: str, others: Sequence[str]) -> str:
    """Return the path of a store, other than *path*, that has a row with *key*."""
    for other in others:
        if other == path or not os.path.exists(other):
            continue
        with StoreReader(other) as reader:
            for cells in reader.cells():
                if cells[0] == key:
                    return other
    return "another store"
