"""Formulate sub-batch selection (Khanna et al., Section 4.2, equations (14)-(20)).

Sets: places i (compute nodes, or virtual nodes of the hierarchy), pending tasks k,
files l that they read. Variables: T_ki is 1 if task k is allocated to place i; X_li is
1 if file l is stored there. Tasks with equal files and equal compute time are merged,
which loses nothing: T is then a number of tasks.

Departures from the paper:

- Files that a place has already may stay or leave, so X is an ordinary variable for
  them. Equation (8), which makes every file be fetched, plays no part in the first
  stage.
- The compute time is divided by the speed of the place.
- Of selections with equally many tasks (20), ``ties="bytes"`` takes one that transfers
  the fewest bytes (ours).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Literal

from ioopt.models.program import Number, Program
from ioopt.problems.replication import ReplicationProblem
from ioopt.units import exact

MOST_SUM = 10**18
"""Largest sum of whole numbers in a constraint given to CP-SAT."""
TOLERANCE = Fraction(1, 10**9)
"""Slack of (17) as a share of all computing, so that rounding cannot decide it."""
MOST_DENOMINATOR = 10_000
"""Largest denominator of the fraction that stands for Thresh."""
_TIE_UNITS = 10**4


@dataclass(frozen=True)
class Place:
    """Describe a compute node or virtual node.

    ``disk_bytes`` and ``speed`` are the sums over its nodes, ``present`` are the files
    that it holds. ``largest_disk`` is the largest disk of one of its nodes; the files
    of a task must fit on it. A disk of None is unlimited.
    """

    disk_bytes: int | None
    speed: float
    present: frozenset[int]
    largest_disk: int | None


@dataclass(frozen=True)
class Group:
    """Represent tasks with the same files and compute time, in the order of the
    instance.
    """

    files: tuple[int, ...]
    tasks: tuple[int, ...]


def group_tasks(problem: ReplicationProblem, tasks: Sequence[int]) -> list[Group]:
    """Return *tasks* in groups of equal ones, in the order of the first task of each
    group.
    """
    groups: dict[tuple[tuple[int, ...], float], list[int]] = {}
    for task in tasks:
        key = tuple(sorted(problem.inputs[task])), problem.tasks[task].compute_seconds
        groups.setdefault(key, []).append(task)
    return [Group(files, tuple(members)) for (files, _), members in groups.items()]


class SubBatchModel:
    """Build the first stage as a program, with one method for each numbered
    constraint.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        tasks: Sequence[int],
        places: Sequence[Place],
        thresh: float | None,
        ties: Literal["any", "bytes"] = "any",
    ) -> None:
        """Build the equations (14)-(20); (17) is omitted if *thresh* is None."""
        self.problem = problem
        self.places = tuple(places)
        self.groups = group_tasks(problem, tasks)
        self.program = Program("sub_batch", maximise=True)
        self.count = [
            [self._count_variable(g, i) for i in range(len(places))]
            for g in range(len(self.groups))
        ]
        self.stored: dict[tuple[int, int], int] = {}
        self._inputs_14()
        self._disk_15()
        self._one_place_16()
        if thresh is not None:
            self._balance_17(thresh)
        self._objective_20(ties)

    def _count_variable(self, g: int, i: int) -> int:
        """Return the variable T for the number of tasks of group *g* at place *i*.

        Its upper limit is 0 if a task of the group does not fit on a disk there.
        """
        group = self.groups[g]
        place = self.places[i]
        size = sum(self.problem.files[file].bytes for file in group.files)
        fits = place.largest_disk is None or size <= place.largest_disk
        return self.program.whole(f"T_{g}_{i}", 0, len(group.tasks) if fits else 0)

    def _inputs_14(self) -> None:
        """(14): T_ki <= X_li for every file l that task k reads."""
        for g, group in enumerate(self.groups):
            for i in range(len(self.places)):
                for file in group.files:
                    key = file, i
                    if key not in self.stored:
                        self.stored[key] = self.program.binary(f"X_{file}_{i}")
                    terms = [
                        (self.count[g][i], 1),
                        (self.stored[key], -len(group.tasks)),
                    ]
                    self.program.add(f"eq14_{g}_{file}_{i}", terms, most=0)

    def _disk_15(self) -> None:
        """(15): the files stored at a place fit its disk."""
        for i, place in enumerate(self.places):
            if place.disk_bytes is not None:
                used = [
                    (variable, self.problem.files[file].bytes)
                    for (file, at), variable in self.stored.items()
                    if at == i
                ]
                self.program.add(f"eq15_{i}", used, most=place.disk_bytes)

    def _one_place_16(self) -> None:
        """(16): a task is allocated to at most one place."""
        for g, (group, row) in enumerate(zip(self.groups, self.count, strict=True)):
            self.program.add(
                f"eq16_{g}", [(at, 1) for at in row], most=len(group.tasks)
            )

    def _balance_17(self, thresh: float) -> None:
        """(17)-(19): no place computes longer than (1 + Thresh) x the mean over all
        places.
        """
        factor = 1 + exact(thresh).limit_denominator(MOST_DENOMINATOR)
        share = factor / len(self.places)
        top = share.numerator
        bottom = share.denominator
        loads, slack = self._whole_loads(MOST_SUM // (top + bottom))
        for i in range(len(self.places)):
            # bottom x load of place i <= top x load of all places
            terms = []
            for at, load in enumerate(loads):
                weight = bottom - top if at == i else -top
                for row, work in zip(self.count, load, strict=True):
                    terms.append((row[at], work * weight))
            self.program.add(f"eq17_{i}", terms, most=slack * (top + bottom))

    def _whole_loads(self, most: int) -> tuple[list[list[int]], int]:
        """Return the compute times in whole units, and the slack of (17) in the same
        units.

        The times are one list for each place, with the time of a task of each group.
        Units are chosen so that times are exact, and equality in (17) stays equality.
        Times with many digits, whose sum would exceed *most* units, are rounded. The
        slack is ``TOLERANCE`` of the sum, plus the most that rounding may add to a
        load.
        """
        seconds = [
            exact(self.problem.tasks[group.tasks[0]].compute_seconds)
            for group in self.groups
        ]
        loads = []
        denominators: set[int] = set()
        for place in self.places:
            row = [value / exact(place.speed) for value in seconds]
            denominators.update(value.denominator for value in row)
            loads.append(row)
        counts = [len(group.tasks) for group in self.groups]
        total = Fraction()
        for g, count in enumerate(counts):
            total += count * max(row[g] for row in loads)
        unit = Fraction(1, lcm(*denominators))
        # The slack is 0 unless times have more than nine digits.
        slack = int(TOLERANCE * total / unit)
        if total / unit > most:
            unit = total / most
            slack = int(TOLERANCE * most) + sum(counts)
        return [[round(value / unit) for value in row] for row in loads], slack

    def _objective_20(self, ties: Literal["any", "bytes"]) -> None:
        """(20): maximise the number of tasks.

        With *ties* "bytes", minimise the bytes to transfer among equally good
        selections.
        """
        new = {
            key: self.problem.files[key[0]].bytes
            for key in self.stored
            if key[0] not in self.places[key[1]].present
        }
        weight: dict[tuple[int, int], int] = {}
        total = sum(new.values())
        if ties == "bytes" and total:
            unit = total / _TIE_UNITS
            weight = {key: round(size / unit) for key, size in new.items()}
        goal = self.program.objective
        each = sum(weight.values()) + 1
        for row in self.count:
            goal.update(dict.fromkeys(row, each))
        goal.update({self.stored[key]: -lost for key, lost in weight.items()})

    def hint(self, chosen: Sequence[Sequence[int]]) -> dict[int, int]:
        """Return the values of all variables that represent *chosen*, the tasks of each
        place.
        """
        values: dict[int, int] = {}
        for i, tasks in enumerate(chosen):
            members = set(tasks)
            needed: set[int] = set()
            for task in tasks:
                needed.update(self.problem.inputs[task])
            for g, group in enumerate(self.groups):
                values[self.count[g][i]] = len(members.intersection(group.tasks))
            for (file, at), variable in self.stored.items():
                if at == i:
                    values[variable] = int(file in needed)
        return values

    def decode(self, values: Mapping[int, Number]) -> list[list[int]]:
        """Return the tasks of each place in a solution; *values* are keyed by variable.

        The tasks of a group are taken in their order, place by place.
        """
        chosen: list[list[int]] = [[] for _ in self.places]
        for group, row in zip(self.groups, self.count, strict=True):
            at = 0
            for i, variable in enumerate(row):
                number = round(values[variable])
                chosen[i] += group.tasks[at : at + number]
                at += number
        return [sorted(tasks) for tasks in chosen]
