"""Plan in rounds for small disks (Khanna et al., Sections 4.2 to 4.4; rules 5 to 7).

A round selects a sub-batch of the pending tasks, allocates it to the nodes, and evicts
files to make room. The flat scheme is a hierarchy of one level.
"""

import math
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, field_validator

from ioopt.errors import UsageError
from ioopt.models.replication.bounds import area_seconds
from ioopt.models.replication.subbatch import Place
from ioopt.options import Deadline, SolveOptions
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

HASTE_SECONDS_PER_TASK = 0.0008
"""Seconds that a round without models takes for each task (measured).

This time is reserved at the end of the time limit.
"""
SLACK_SECONDS = 0.3
"""Seconds by which planning without models may exceed the time limit."""


class RoundLimits(Record):
    """Divide the time left among the rounds.

    The values were chosen on the sweep ``additive-small-disks`` (IMAGE-85, bipartite-85
    and SAT-85 of 60 tasks on 4 nodes, 8 s). Planning may use ``planning_share`` of the
    time left; the rest is for writing the plan. The first stage of a round, the
    selection, may use ``selection_share`` of the round's time; the rest is for the
    second stage.
    """

    planning_share: Annotated[float, Field(gt=0, le=1)] = 0.9
    selection_share: Annotated[float, Field(gt=0, lt=1)] = 0.35


LIMITS = RoundLimits()


class Settings(Record):
    """Configure how rounds are balanced and separated, and what they evict.

    ``thresh``: balance threshold in condition (17). ``eviction``: policy between rounds
    and in the replay. ``barriers``: put a barrier between rounds. ``replication``:
    allow copies between nodes. ``moves``, ``sources``: how the replay treats the
    planned transfers (timeline rule 7); with ``schedule`` the plan has those of its
    replay instead, and no barriers (timeline rule 12).

    ``room``: when a round begins, every node makes room for the inputs of the largest,
    the mean or the next pending task; with ``missing`` it frees only the space of the
    arriving files. Without barriers, each node does this when it reaches the round
    (rule 7). If ``room`` is None, it is ``largest``, but without barriers the replay
    frees only what is missing.

    ``ties``: among selections with equal objectives (20), take ``any``, or the one that
    transfers the fewest ``bytes`` (ours). ``effort``: CP-SAT's deterministic seconds
    for each model. These make a run repeatable, unless its deadline cuts it short.
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


def place_of(
    problem: ReplicationProblem,
    present: Sequence[AbstractSet[int]],
    nodes: tuple[int, ...],
) -> Place:
    """Return *nodes* as one virtual node; its disk is limited only if all their disks
    are.

    *present* are the files on each node of the problem.
    """
    there: set[int] = set()
    sizes: list[int] = []
    for node in nodes:
        there |= present[node]
        disk = problem.nodes[node].disk_bytes
        if disk is not None:
            sizes.append(disk)
    speed = sum(problem.nodes[node].speed for node in nodes)
    if len(sizes) < len(nodes):
        return Place(None, speed, frozenset(there), None)
    return Place(sum(sizes), speed, frozenset(there), max(sizes))


class Rounds:
    """Make rounds one after the other, and track the files that they leave on the
    disks.

    *first* are the tasks of each node in the first round; without it the first stage
    selects them, as in later rounds.

    Four counters are reported in notes. ``unbalanced``: selections without the balance
    (17). ``unproven``: selections not proven to be largest. ``rushed``: models with
    less time than ``effort``. ``hurried``: rounds made without models. ``cut`` counts
    the models that ended after ``effort``, without a proof and above the gap; it is a
    metric. ``last_count`` is the number of tasks of the last round.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        request: SolveRequest,
        settings: Settings,
        levels: tuple[int, ...],
        first: Selection | None = None,
    ) -> None:
        self.problem = problem
        self.first = first
        self.request = request
        self.settings = settings
        self.levels = levels
        self.disks = Disks(problem, settings.eviction, settings.room or "largest")
        self.rounds: list[Round] = []
        self.queues: list[list[int]] = [[] for _ in problem.nodes]
        self.unbalanced = 0
        self.unproven = 0
        self.rushed = 0
        self.hurried = 0
        self.cut = 0
        self.last_count = 0
        self.interrupted = False

    def run(self, models: bool = True) -> ReplicationPlan:
        """Make rounds until every task is planned; return the plan.

        After the deadline or an interruption, and if *models* is false, no models are
        solved in further rounds.
        """
        pending = list(range(len(self.problem.tasks)))
        if not any(node.disk_bytes is not None for node in self.problem.nodes):
            self.last_count = len(pending)
        while pending:
            left = self.request.deadline.remaining()
            late = left <= HASTE_SECONDS_PER_TASK * len(pending)
            hurry = late or self.interrupted or not models
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
        """Make one round from tasks in *pending*, and return the tasks of the round.

        With *hurry* no models are solved.
        """
        self.disks.open_round(pending)
        gone: list[Removal] = []
        if self.rounds:
            # Before the first round, held files are evicted only to make room for
            # arriving files.
            gone = self.disks.evict_for_one_task(pending)
        whole = tuple(range(len(self.problem.nodes)))
        if not hurry and not self.last_count:
            places = [place_of(self.problem, self.disks.present, (i,)) for i in whole]
            greedy = greedy_selection(self.problem, pending, places)
            self.last_count = max(1, sum(map(len, greedy)))
        self.hurried += hurry
        budget = 0.0 if hurry else self._budget(len(pending))
        parts = self._descend(pending, whole, self.levels, budget)
        for part in parts:
            gone += self._evict(part)
        kept = [frozenset(files) for files in self.disks.present]
        remote, copies = self._join(parts, kept)
        done: set[int] = set()
        for part in parts:
            done.update(part.assign)
        self._record(parts, remote, copies, gone)
        self.last_count = len(done)
        return done

    def _budget(self, pending: int) -> float | None:
        """Return the seconds for this round, if later rounds are as large as the last;
        None if the time is unlimited.

        *pending* is the number of tasks not yet planned.
        """
        left = self.request.deadline.remaining()
        if left == float("inf"):
            return None
        return LIMITS.planning_share * left / max(1, -(-pending // self.last_count))

    def _descend(
        self,
        tasks: list[int],
        nodes: tuple[int, ...],
        levels: tuple[int, ...],
        budget: float | None,
    ) -> list[Allocation]:
        """Select tasks for each child of the virtual node *nodes*, then do the same for
        the children.

        At the lowest level the selected tasks are allocated. *levels* are the numbers
        of children from here down. *budget* is the time in seconds (None: unlimited).
        """
        if not tasks:
            return []
        width = levels[0]
        size = len(nodes) // width
        children = [nodes[at * size : (at + 1) * size] for at in range(width)]
        chosen = self._select(tasks, children, budget)
        left = None
        share = None
        if budget is not None:
            left = (1 - LIMITS.selection_share) * budget
            share = left / width
        if len(levels) == 1:
            start = {
                nodes[i]: list(part) for i, part in enumerate(chosen.tasks) if part
            }
            present = [frozenset(files) for files in self.disks.present]
            limits = self._limits(left)
            copies = self.settings.replication
            made = allocate(self.problem, start, nodes, present, limits, copies)
            self.cut += made.stop is StopReason.ITERATIONS
            return [made]
        parts: list[Allocation] = []
        for child, mine in zip(children, chosen.tasks, strict=True):
            parts += self._descend(list(mine), child, levels[1:], share)
        return parts

    def _select(
        self,
        tasks: list[int],
        children: Sequence[tuple[int, ...]],
        budget: float | None,
    ) -> Selection:
        """Select, by the first stage, the tasks that each child takes in this round."""
        if self.first is not None and not self.rounds:
            return self.first
        places = [
            place_of(self.problem, self.disks.present, child) for child in children
        ]
        single = len(places) == len(self.problem.nodes)
        if single and all(place.disk_bytes is None for place in places):
            # If the disks hold all files at once, all tasks are selected (Section 4.1).
            greedy = greedy_selection(self.problem, tasks, places)
            return Selection(tuple(map(tuple, greedy)), True, True)
        limits = self._limits(
            None if budget is None else LIMITS.selection_share * budget
        )
        wanted = self.settings
        chosen = select(self.problem, tasks, places, wanted.thresh, limits, wanted.ties)
        self.unbalanced += not chosen.balanced
        self.unproven += not chosen.proven
        self.cut += chosen.stop is StopReason.ITERATIONS
        return chosen

    def _limits(self, seconds: float | None) -> BackendLimits:
        """Return the limits of a model that may take *seconds* (None: unlimited).

        If this is less than ``effort``, the model is counted as rushed.
        """
        if seconds is not None:
            least = min(seconds, self.request.deadline.remaining())
            self.rushed += least < self.settings.effort
        limits = BackendLimits.of(self.request, seconds)
        return replace(limits, work=self.settings.effort)

    def _evict(self, part: Allocation) -> list[Removal]:
        """Evict files from the nodes of *part* to make room for its arriving files.

        Return (file, node) for every evicted file.
        """
        gone: list[Removal] = []
        brought = [*part.remote, *((file, target) for file, _, target in part.copies)]
        for node in part.nodes:
            disk = self.problem.nodes[node].disk_bytes
            if disk is None:
                continue
            arriving = sum(
                self.problem.files[file].bytes for file, at in brought if at == node
            )
            sent = {file for file, source, _ in part.copies if source == node}
            keep = part.read_on(self.problem, node) | sent
            gone += self.disks.evict_until(node, disk - arriving, keep)
        return gone

    def _join(
        self, parts: Sequence[Allocation], kept: Sequence[frozenset[int]]
    ) -> tuple[list[Removal], list[Move]]:
        """Return all fetches and all copies of a round, which consists of *parts*.

        A fetch becomes a copy if another virtual node stores the file and a copy is
        cheaper. *kept* are the files on each node after the evictions of the round.
        """
        far = self.problem.network.remote_bytes_per_second
        cheaper = self.settings.replication and self.problem.copy_bytes_per_second > far
        remote: list[Removal] = []
        copies: list[Move] = []
        for part in parts:
            copies.extend(part.copies)
        holder: dict[int, int] = {}
        for node in reversed(range(len(kept))):
            holder.update(dict.fromkeys(kept[node], node))
        for part in parts:
            for file, node in part.remote:
                source = holder.get(file)
                elsewhere = source is not None and source != node
                read = file in part.read_on(self.problem, node)
                if len(parts) > 1 and cheaper and read and elsewhere:
                    assert source is not None
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
        """Record the round, and update the disks.

        *remote* and *copies* are the transfers of the round; *gone* are the evicted
        files.
        """
        problem = self.problem
        nodes = [node.id for node in problem.nodes]
        files = [file.id for file in problem.files]
        names = [task.id for task in problem.tasks]
        assign: dict[int, int] = {}
        for part in parts:
            assign.update(part.assign)
            for node, queue in part.order.items():
                self.queues[node] += queue
        brought = [*remote, *((file, target) for file, _, target in copies)]
        read: list[Removal] = []
        for task, node in assign.items():
            read.extend((file, node) for file in problem.inputs[task])
        self.disks.close_round(len(self.rounds) + 1, brought, read)
        placed = sorted(assign.items())
        self.rounds.append(
            Round(
                tasks=tuple(names[task] for task, _ in placed),
                assign={names[task]: nodes[node] for task, node in placed},
                remote=tuple((files[file], nodes[node]) for file, node in remote),
                copies=tuple((files[f], nodes[i], nodes[j]) for f, i, j in copies),
                evicted=tuple((files[file], nodes[node]) for file, node in gone),
            )
        )

    def _plan(self) -> ReplicationPlan:
        """Return the plan that consists of all rounds."""
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
        remote: list[tuple[str, str]] = []
        copies: list[tuple[str, str, str]] = []
        for part in self.rounds:
            remote.extend(part.remote)
            copies.extend(part.copies)
        return plan.model_copy(
            update={
                "remote": tuple(remote),
                "copies": tuple(copies),
                "rounds": tuple(self.rounds),
                "barriers": wanted.barriers,
            }
        )

    def notes(self) -> list[str]:
        """Return notes that say how many rounds there are, and what was not proven."""
        counted = (
            (self.unbalanced, "selection(s) without the balance (17)"),
            (self.unproven, "selection(s) not proven largest"),
            (self.hurried, "round(s) made without models, as no time was left"),
            (
                self.rushed,
                f"model(s) had less time than effort={self.settings.effort:g}",
            ),
        )
        told = [f"{number} {what}" for number, what in counted if number]
        return [f"{len(self.rounds)} round(s)", *told]


def plan_after(
    problem: ReplicationProblem, chosen: Sequence[Sequence[int]]
) -> ReplicationPlan:
    """Return the plan in rounds whose first round runs the tasks *chosen* for each
    node; greedy rounds, without models, run the others.
    """
    first = Selection(tuple(map(tuple, chosen)), True, True)
    request: SolveRequest = SolveRequest(SolveOptions(None), Deadline(None))
    levels = (len(problem.nodes),)
    return Rounds(problem, request, Settings(), levels, first).run(models=False)


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Solve in rounds that select tasks for all nodes at once."""
    return solve_in_rounds(
        problem, request, request.settings or Settings(), (len(problem.nodes),)
    )


def solve_in_rounds(
    problem: ReplicationProblem,
    request: SolveRequest,
    settings: Settings,
    levels: tuple[int, ...],
) -> Outcome:
    """Solve in rounds down the tree of virtual nodes; the bound is the area bound.

    *levels* are the numbers of children at each level, from the top.
    """
    begun = time.perf_counter()
    require_batch(problem)
    least = HASTE_SECONDS_PER_TASK * len(problem.tasks)
    if least > request.deadline.remaining() + SLACK_SECONDS:
        return answer_in_file_order(problem, "rounds")
    rounds = Rounds(problem, request, settings, levels)
    plan = rounds.run()
    milliseconds = 1000 * (time.perf_counter() - begun) / max(1, len(problem.tasks))
    stop = StopReason.FINISHED
    if rounds.interrupted:
        stop = StopReason.INTERRUPTED
    elif rounds.rushed or rounds.hurried:
        stop = StopReason.TIME
    return Outcome(
        plan,
        area_seconds(problem),
        stop,
        notes=("; ".join(rounds.notes()),),
        metrics={
            "rounds": len(rounds.rounds),
            "models_cut": rounds.cut,
            "scheduling_milliseconds_per_task": milliseconds,
        },
    )


PAPER = {8: (4, 2), 16: (4, 4), 32: (8, 4)}
"""Hierarchies in Figure 6 of Khanna et al., keyed by the number of nodes."""


class TreeSettings(Settings):
    """Configure the tree of virtual nodes; all settings of two-stage apply too.

    ``hierarchy``: the numbers of children at each level, such as ``4:2`` or ``2:2:4``
    (None: chosen by the number of nodes). The default of ``effort`` is less than in
    two-stage, since the models are smaller.
    """

    hierarchy: str | None = None
    ties: Literal["any", "bytes"] = "bytes"
    effort: Annotated[float, Field(gt=0, le=10_000)] = 0.1

    @field_validator("hierarchy")
    @classmethod
    def _numbers(cls, value: str | None) -> str | None:
        """Refuse a hierarchy that does not consist of positive whole numbers and
        colons.
        """
        for part in [] if value is None else value.split(":"):
            if not part.strip().isdecimal() or not 0 < int(part) < 10**6:
                raise ValueError(
                    "expected whole numbers separated by colons, such as 4:2"
                )
        return value


def levels_for(num_nodes: int, hierarchy: str | None) -> tuple[int, ...]:
    """Return the number of children at each level of the tree, from the top.

    Their product is *num_nodes*; if that of *hierarchy* differs, UsageError is raised.
    Without a *hierarchy*, 8, 16 and 32 nodes are arranged as in the paper. Other
    numbers of nodes are divided into several groups of 4 nodes or, if that is
    impossible, of 2 nodes. If that is impossible too, there is one level.

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
    """Solve in rounds that select tasks down a tree of virtual nodes (Khanna et al.,
    Section 4.4).
    """
    settings = request.settings or TreeSettings()
    levels = levels_for(len(problem.nodes), settings.hierarchy)
    return solve_in_rounds(problem, request, settings, levels)
