"""The paper's schemes for limited disks, in rounds (Khanna et al., Sections 4.2
to 4.4; rules 5 to 7).

Select a sub-batch, allocate it, evict, repeat; the flat scheme is a
hierarchy of one level.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, field_validator

from ioopt.errors import UsageError
from ioopt.models.replication.bounds import area_seconds
from ioopt.models.replication.subbatch import Place
from ioopt.problems.base import Record
from ioopt.problems.replication import (
    EvictionPolicy,
    MovesAre,
    ReplicationPlan,
    ReplicationProblem,
    Room,
    Round,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.replication.greedy.job_data_present import answer_in_file_order
from ioopt.solvers.replication.plans import Move, Sources, build_plan, require_batch
from ioopt.solvers.replication.rounds.eviction import Disks, Removal
from ioopt.solvers.replication.rounds.stages import (
    Allocation,
    Selection,
    allocate,
    greedy_selection,
    select,
)

RESERVE = 0.9
"""Share of the remaining time that the rounds may plan with; the rest
writes the plan down.
"""
SELECTION_SHARE = 0.35
HASTE_SECONDS_PER_TASK = 0.0008
"""What a round without models takes for each task, kept back from the time limit."""
SLACK_SECONDS = 0.3
"""How far past its limit a run may be planned in haste."""


class Settings(Record):
    """``thresh`` of (17); ``eviction`` between rounds and in the replay;
    ``barriers`` between rounds.

    ``room``: a round begins with room on every node for the largest, mean or next
    pending task, or ``missing`` evicts for what arrives alone; without barriers each
    node clears it as it comes to a round (rule 7). None: largest, and without barriers
    the replay evicts what is missing. ``replication``: copies between nodes; ``moves``,
    ``sources``: of the replay (timeline rule 7). ``ties``: what (20) leaves open goes
    to ``any`` selection or to the one that brings the fewest ``bytes`` (ours).
    ``effort``: CP-SAT's deterministic seconds a model, so that a run that is not cut
    short by its deadline can be repeated.
    """

    eviction: EvictionPolicy = "popularity"
    barriers: bool = True
    room: Room | None = None
    replication: bool = True
    moves: MovesAre = "advice"
    sources: Sources = "lowest"
    thresh: Annotated[float, Field(ge=0, le=1000)] = 0.2
    ties: Literal["any", "bytes"] = "any"
    effort: Annotated[float, Field(gt=0, le=10_000)] = 1.0


class Rounds:
    """The rounds made so far and what they leave behind."""

    def __init__(
        self,
        problem: ReplicationProblem,
        request: SolveRequest,
        settings: Settings,
        levels: tuple[int, ...],
    ) -> None:
        self.problem = problem
        self.request = request
        self.settings = settings
        self.levels = levels
        self.disks = Disks(problem, settings.eviction, settings.room or "largest")
        self.rounds: list[Round] = []
        self.queues: list[list[int]] = [[] for _ in problem.nodes]
        self.unbalanced = self.unproven = self.rushed = self.hurried = (
            self.last_count
        ) = 0
        self.interrupted = False

    def run(self) -> ReplicationPlan:
        """Make rounds until every task is planned; in haste after the
        deadline or an interruption.
        """
        pending = list(range(len(self.problem.tasks)))
        if not any(node.disk_bytes is not None for node in self.problem.nodes):
            self.last_count = len(pending)
        while pending:
            left = self.request.deadline.remaining()
            hurry = self.interrupted or left <= HASTE_SECONDS_PER_TASK * len(pending)
            saved = [set(files) for files in self.disks.present]
            try:
                done = self._round(pending, hurry)
            except KeyboardInterrupt:
                if self.interrupted:
                    raise
                self.interrupted = True
                self.disks.present = saved
                continue
            pending = [task for task in pending if task not in done]
        return self._plan()

    def _round(self, pending: list[int], hurry: bool) -> set[int]:
        """Make one round of some of *pending* (in a *hurry* without models);
        returns the tasks planned.
        """
        # Nothing has run before the first round: what is held is evicted
        # only for what arrives.
        self.disks.open_round(pending)
        gone = self.disks.evict_for_one_task(pending) if self.rounds else []
        whole = tuple(range(len(self.problem.nodes)))
        if not hurry and not self.last_count:
            places = [self._place((i,)) for i in whole]
            greedy = greedy_selection(self.problem, pending, places)
            self.last_count = max(1, sum(map(len, greedy)))
        self.hurried += hurry
        budget = 0.0 if hurry else self._budget(len(pending))
        parts = self._descend(pending, whole, self.levels, budget)
        for part in parts:
            gone += self._evict(part)
        kept = [frozenset(files) for files in self.disks.present]
        remote, copies = self._join(parts, kept)
        done = {task for part in parts for task in part.assign}
        self._record(parts, remote, copies, gone)
        self.last_count = len(done)
        return done

    def _budget(self, pending: int) -> float | None:
        """Seconds for this round, as if all later rounds were as
        large as the last one.
        """
        left = self.request.deadline.remaining()
        if left == float("inf"):
            return None
        return RESERVE * left / max(1, -(-pending // self.last_count))

    def _descend(
        self,
        tasks: list[int],
        nodes: tuple[int, ...],
        levels: tuple[int, ...],
        budget: float | None,
    ) -> list[Allocation]:
        """Select for the children of a virtual node and go on inside each;
        allocate at the leaves.
        """
        if not tasks:
            return []
        width = levels[0]
        size = len(nodes) // width
        children = [nodes[at * size : (at + 1) * size] for at in range(width)]
        chosen = self._select(tasks, children, budget)
        left = None if budget is None else (1 - SELECTION_SHARE) * budget
        if len(levels) == 1:
            start = {
                nodes[i]: list(part) for i, part in enumerate(chosen.tasks) if part
            }
            present = [frozenset(files) for files in self.disks.present]
            limits = self._limits(left)
            copies = self.settings.replication
            return [allocate(self.problem, start, nodes, present, limits, copies)]
        share = None if left is None else left / width
        return [
            part
            for child, mine in zip(children, chosen.tasks, strict=True)
            for part in self._descend(list(mine), child, levels[1:], share)
        ]

    def _select(
        self,
        tasks: list[int],
        children: Sequence[tuple[int, ...]],
        budget: float | None,
    ) -> Selection:
        """First stage: which of *tasks* each of *children* takes in this round."""
        places = [self._place(child) for child in children]
        single = len(places) == len(self.problem.nodes)
        if single and all(place.disk_bytes is None for place in places):
            # Section 4.1: with room for everything at once there is nothing to select.
            greedy = greedy_selection(self.problem, tasks, places)
            return Selection(tuple(map(tuple, greedy)), True, True)
        limits = self._limits(None if budget is None else SELECTION_SHARE * budget)
        wanted = self.settings
        chosen = select(self.problem, tasks, places, wanted.thresh, limits, wanted.ties)
        self.unbalanced += not chosen.balanced
        self.unproven += not chosen.proven
        return chosen

    def _limits(self, seconds: float | None) -> BackendLimits:
        if seconds is not None:
            least = min(seconds, self.request.deadline.remaining())
            self.rushed += least < self.settings.effort
        return replace(
            BackendLimits.of(self.request, seconds), work=self.settings.effort
        )

    def _place(self, nodes: tuple[int, ...]) -> Place:
        disks = [self.problem.nodes[node].disk_bytes for node in nodes]
        sizes = [disk for disk in disks if disk is not None]
        limited = len(sizes) == len(disks)
        present = frozenset(file for node in nodes for file in self.disks.present[node])
        speed = sum(self.problem.nodes[node].speed for node in nodes)
        return Place(
            sum(sizes) if limited else None,
            speed,
            present,
            max(sizes) if limited else None,
        )

    def _evict(self, part: Allocation) -> list[Removal]:
        gone: list[Removal] = []
        for node in part.nodes:
            disk = self.problem.nodes[node].disk_bytes
            if disk is not None:
                brought = [*part.remote, *((f, at) for f, _, at in part.copies)]
                arriving = sum(
                    self.problem.files[f].bytes for f, at in brought if at == node
                )
                # What is read there, or sent from there.
                keep = part.read_on(self.problem, node)
                keep |= {f for f, source, _ in part.copies if source == node}
                gone += self.disks.evict_until(node, disk - arriving, keep)
        return gone

    def _join(
        self, parts: Sequence[Allocation], kept: Sequence[frozenset[int]]
    ) -> tuple[list[Removal], list[Move]]:
        """All moves of a round; a reader's fetch becomes a copy where another
        virtual node has the file.
        """
        far = self.problem.network.remote_bytes_per_second
        cheaper = self.settings.replication and self.problem.copy_bytes_per_second > far
        remote: list[Removal] = []
        copies = [move for part in parts for move in part.copies]
        holder: dict[int, int] = {}
        for node in reversed(range(len(kept))):
            holder.update((file, node) for file in kept[node])
        for part in parts:
            for file, node in part.remote:
                source = holder.get(file)
                reads = file in part.read_on(self.problem, node)
                if len(parts) > 1 and cheaper and reads and source not in (None, node):
                    copies.append((file, source, node))
                    continue
                remote.append((file, node))
                holder.setdefault(file, node)
        return sorted(remote), sorted(copies)

    def _record(
        self,
        parts: Sequence[Allocation],
        remote: list[Removal],
        copies: list[Move],
        gone: list[Removal],
    ) -> None:
        """Note the round by names, and what it leaves on the disks."""
        problem = self.problem
        nodes = [node.id for node in problem.nodes]
        files = [file.id for file in problem.files]
        names = [task.id for task in problem.tasks]
        assign: dict[int, int] = {}
        for part in parts:
            assign.update(part.assign)
            for node, queue in part.order.items():
                self.queues[node] += queue
        brought = [*remote, *((file, node) for file, _, node in copies)]
        read = [
            (file, node)
            for task, node in assign.items()
            for file in problem.inputs[task]
        ]
        self.disks.close_round(len(self.rounds) + 1, brought, read)
        self.rounds.append(
            Round(
                tasks=tuple(names[task] for task in sorted(assign)),
                assign={
                    names[task]: nodes[node] for task, node in sorted(assign.items())
                },
                remote=tuple((files[file], nodes[node]) for file, node in remote),
                copies=tuple((files[f], nodes[i], nodes[j]) for f, i, j in copies),
                evicted=tuple((files[file], nodes[node]) for file, node in gone),
            )
        )

    def _plan(self) -> ReplicationPlan:
        wanted = self.settings
        plan = build_plan(
            self.problem,
            self.queues,
            wanted.eviction,
            (),
            "static",
            sources=wanted.sources,
            carry_out=wanted.moves == "plan",
            room=wanted.room or "missing",
        )
        parts = {
            "remote": tuple(move for part in self.rounds for move in part.remote),
            "copies": tuple(move for part in self.rounds for move in part.copies),
            "rounds": tuple(self.rounds),
            "barriers": wanted.barriers,
        }
        return plan.model_copy(update=parts)

    def notes(self) -> list[str]:
        """What a reader should know of how the rounds were found."""
        counted = (
            (self.unbalanced, "selection(s) without the balance (17)"),
            (self.unproven, "selection(s) not proven largest"),
            (self.hurried, "round(s) made in haste when the time was over"),
            (
                self.rushed,
                f"model(s) had less time than effort={self.settings.effort:g}",
            ),
        )
        told = [f"{number} {what}" for number, what in counted if number]
        return [f"{len(self.rounds)} round(s)", *told]


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Solve in rounds over all nodes at once."""
    return solve_in_rounds(
        problem, request, request.settings or Settings(), (len(problem.nodes),)
    )


def solve_in_rounds(
    problem: ReplicationProblem,
    request: SolveRequest,
    settings: Settings,
    levels: tuple[int, ...],
) -> Outcome:
    """Plan with the tree of virtual nodes *levels*; the bound is the area bound."""
    begun = time.perf_counter()
    require_batch(problem)
    if (
        HASTE_SECONDS_PER_TASK * len(problem.tasks)
        > request.deadline.remaining() + SLACK_SECONDS
    ):
        return answer_in_file_order(problem, "rounds")
    rounds = Rounds(problem, request, settings, levels)
    plan = rounds.run()
    milliseconds = 1000 * (time.perf_counter() - begun) / max(1, len(problem.tasks))
    stop = StopReason.TIME if rounds.rushed or rounds.hurried else StopReason.FINISHED
    return Outcome(
        plan,
        area_seconds(problem),
        StopReason.INTERRUPTED if rounds.interrupted else stop,
        notes=("; ".join(rounds.notes()),),
        metrics={
            "rounds": len(rounds.rounds),
            "scheduling_milliseconds_per_task": milliseconds,
        },
    )


PAPER = {8: (4, 2), 16: (4, 4), 32: (8, 4)}
"""Hierarchies of Figure 6."""


class TreeSettings(Settings):
    """``hierarchy`` such as ``4:2`` or ``2:2:4`` (None: by the number of nodes);
    others as two-stage.

    The models are smaller than those of the flat scheme, so each gets less ``effort``.
    """

    hierarchy: str | None = None
    ties: Literal["any", "bytes"] = "bytes"
    effort: Annotated[float, Field(gt=0, le=10_000)] = 0.1

    @field_validator("hierarchy")
    @classmethod
    def _numbers(cls, value: str | None) -> str | None:
        if value is not None:
            parts = value.split(":")
            if not all(
                part.strip().isdecimal() and 0 < int(part) < 10**6 for part in parts
            ):
                raise ValueError("wanted whole numbers with colons, such as 4:2")
        return value


def levels_for(num_nodes: int, hierarchy: str | None) -> tuple[int, ...]:
    """Children at every level, from the top; raises UsageError when they do
    not make *num_nodes*.

    Without a hierarchy: that of the paper for 8, 16 and 32 nodes, else leaves of 4 or
    of 2 nodes where that divides the nodes, else one level.

    >>> levels_for(8, "2:2:2"), levels_for(12, None), levels_for(3, None)
    ((2, 2, 2), (3, 4), (3,))
    """
    if hierarchy is not None:
        levels = tuple(int(part) for part in hierarchy.split(":"))
        if math.prod(levels) != num_nodes:
            raise UsageError(
                f"hierarchy {hierarchy} has {math.prod(levels)} nodes, the "
                f"instance {num_nodes}"
            )
        return levels
    if num_nodes in PAPER:
        return PAPER[num_nodes]
    for leaves in (4, 2):
        if num_nodes > leaves and num_nodes % leaves == 0:
            return num_nodes // leaves, leaves
    return (num_nodes,)


def solve_hierarchical(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Solve in rounds down the tree of virtual nodes (Khanna et al., Section 4.4)."""
    settings = request.settings or TreeSettings()
    levels = levels_for(len(problem.nodes), settings.hierarchy)
    return solve_in_rounds(problem, request, settings, levels)
