"""Replay a plan's queues on the timeline simulator and report the result.

Khanna et al. used SimGrid. The rules here are ours. They are written out in
``docs/rules/replication.md`` and, as code, in :mod:`ioopt.sim.replication.kernel`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from ioopt.compiled.library import Engine
from ioopt.compiled.memory import Maker
from ioopt.errors import OutOfTime, SimulationError, UsageError
from ioopt.options import Deadline
from ioopt.problems.base import LONGEST_SECONDS, find_cycle
from ioopt.problems.replication import (
    CopyEntry,
    LinkModel,
    ReplicationPlan,
    ReplicationProblem,
    Room,
)
from ioopt.protocols import Simulation
from ioopt.sim.replication import kernel
from ioopt.sim.replication.build import (
    Queues,
    build_world,
    maker_for,
    replay_seconds,
    require_actual,
)
from ioopt.sim.replication.report import Listed, Replay, other_moves, report
from ioopt.sim.replication.world import World

Carried = tuple[int, int, int]
"""A planned transfer: file, source node (-1: remote storage) and round."""


@dataclass(frozen=True)
class Entries:
    """Store the queues of a plan as entry numbers: task indices, and further numbers
    for copy entries.
    """

    queues: list[list[int]]
    names: list[str]
    copy_files: list[int]
    rounds: list[list[int]] | None
    drops: list[list[tuple[int, int]]]
    owner: list[int]
    clear: list[int]
    carried: list[list[Carried]] | None

    @classmethod
    def of(cls, problem: ReplicationProblem, plan: ReplicationPlan) -> Entries:
        """Return the entries of *plan*.

        Raises SimulationError for items that are unknown, missing or listed twice.
        """
        queues, names, copy_files, owner = read_queues(problem, plan)
        for k in range(len(problem.tasks)):
            _fits(problem, k, owner[k])
        rounds, drops = _barriers(problem, plan, queues)
        clear = _clear(problem, plan, queues)
        inputs = [*problem.inputs, *((file,) for file in copy_files)]
        carried = None
        if plan.carry_out:
            carried = _carried(problem, plan, queues, inputs, rounds)
        entries = cls(queues, names, copy_files, rounds, drops, owner, clear, carried)
        if problem.is_workflow:
            entries._require_end(problem)
        return entries

    def as_queues(self, plan: ReplicationPlan) -> Queues:
        """Return the queues and how *plan*, whose entries these are, replays them."""
        return Queues(
            self.queues,
            plan.eviction,
            self.rounds,
            self.drops,
            self.clear,
            self.carried,
            plan,
        )

    def listed(self) -> Listed:
        """Return the names, the nodes and the files of all entries, for a report."""
        return Listed(self.names, self.owner, self.copy_files, self.queues)

    def _require_end(self, problem: ReplicationProblem) -> None:
        """Require that no entry waits for itself, through the order of queues or
        through files (workflow rule 10).

        Raises SimulationError if one does.
        """
        before = {k: list(tasks) for k, tasks in enumerate(problem.predecessors)}
        for x, file in enumerate(self.copy_files):
            maker = problem.producer[file]
            before[len(problem.tasks) + x] = [maker] if maker >= 0 else []
        for queue in self.queues:
            for first, second in pairwise(queue):
                before[second].append(first)
        cycle = find_cycle(before)
        if cycle:
            names = " -> ".join(repr(self.names[e]) for e in cycle)
            raise SimulationError(
                f"the order of the queues is a deadlock (dependency cycle): {names}"
            )


class ReadQueues(NamedTuple):
    """The queues of a plan as entry numbers, the names of the entries, the files of the
    copy entries, and the node of each entry.
    """

    queues: list[list[int]]
    names: list[str]
    copy_files: list[int]
    owner: list[int]


def read_queues(problem: ReplicationProblem, plan: ReplicationPlan) -> ReadQueues:
    """Return the queues of *plan*.

    Raises SimulationError for items that are unknown, missing or listed twice.
    """
    for known in plan.order:
        require_place("node", known, problem.node_index, "order")
    names = [task.id for task in problem.tasks]
    owner = [-1] * len(names)
    copy_files: list[int] = []
    queues: list[list[int]] = []
    for i, node in enumerate(problem.nodes):
        queue = []
        where = f"order of {node.id}"
        for item in plan.order.get(node.id, ()):
            if isinstance(item, CopyEntry):
                copy_files.append(
                    require_place("file", item.copy_file, problem.file_index, where)
                )
                queue.append(len(names))
                names.append(f"copy of {item.copy_file}")
                owner.append(i)
                continue
            k = require_place("task", item, problem.task_index, where)
            if owner[k] >= 0:
                raise SimulationError(
                    f"task {item!r} is listed twice in the queues: on "
                    f"{problem.nodes[owner[k]].id} and on {node.id}"
                )
            owner[k] = i
            queue.append(k)
        queues.append(queue)
    for k, task in enumerate(problem.tasks):
        if owner[k] < 0:
            raise SimulationError(f"task {task.id!r} is in no queue")
    return ReadQueues(queues, names, copy_files, owner)


def require_place(what: str, name: str, index: Mapping[str, int], where: str) -> int:
    """Return the index of *name* in *index*; raise SimulationError if it is not
    there.
    """
    if name not in index:
        raise SimulationError(f"{where}: there is no {what} {name!r}")
    return index[name]


def _fits(problem: ReplicationProblem, k: int, i: int) -> None:
    """Raise SimulationError if node *i* can never run task *k*."""
    node = problem.nodes[i]
    task = problem.tasks[k]
    wanted = problem.task_bytes(k)
    if task.cores > node.cores:
        raise SimulationError(
            f"node {node.id} can never run task {task.id!r}, which takes {task.cores} "
            f"cores: it has {node.cores}"
        )
    if node.memory_bytes is not None and task.memory_bytes > node.memory_bytes:
        raise SimulationError(
            f"node {node.id} can never run task {task.id!r}, which takes "
            f"{task.memory_bytes} bytes of memory: it has {node.memory_bytes}"
        )
    limit = None if problem.is_shared else node.disk_bytes
    if limit is not None and wanted > limit:
        raise SimulationError(
            f"node {node.id} can never run task {task.id!r}: its files "
            f"({', '.join((*task.inputs, *task.outputs))}) take {wanted} bytes, the "
            f"disk {limit}"
        )


def _barriers(
    problem: ReplicationProblem, plan: ReplicationPlan, queues: list[list[int]]
) -> tuple[list[list[int]] | None, list[list[tuple[int, int]]]]:
    """Return the round of each place in the queues, and the (file, node) pairs to evict
    when each round opens.

    A copy entry belongs to the round of the task before it. Without barriers, return
    None and an empty list.
    """
    if not plan.barriers or plan.rounds is None:
        return None, []
    problem.require_batch("a plan in rounds")
    round_of: dict[int, int] = {}
    for number, part in enumerate(plan.rounds):
        for name in part.tasks:
            if name in problem.task_index:
                round_of[problem.task_index[name]] = number
    places = []
    for i, queue in enumerate(queues):
        present = 0
        row = []
        for entry in queue:
            if entry < len(problem.tasks):
                name = problem.tasks[entry].id
                if entry not in round_of:
                    raise SimulationError(f"task {name!r} is in no round of the plan")
                if round_of[entry] < present:
                    raise SimulationError(
                        f"order of {problem.nodes[i].id}: task {name!r} of round "
                        f"{round_of[entry]} comes after one of round {present}"
                    )
                present = round_of[entry]
            row.append(present)
        places.append(row)
    drops = []
    for r, former in enumerate(plan.rounds):
        pairs = []
        for name, node in former.evicted:
            where = f"rounds[{r}].evicted"
            place = require_place("node", node, problem.node_index, where)
            pairs.append(
                (require_place("file", name, problem.file_index, where), place)
            )
        drops.append(pairs)
    return places, drops


def _clear(
    problem: ReplicationProblem, plan: ReplicationPlan, queues: list[list[int]]
) -> list[int]:
    """Return, for each place in the queues, the number of bytes that must be free
    before the entry there is staged (timeline rule 8).

    The list is empty if eviction makes room only for missing files. Nothing is cleared
    before the first task of a queue. In a plan in rounds, room is cleared before each
    round. With barriers, the plan names the evictions itself.
    """
    if plan.room == "missing" or plan.barriers or plan.carry_out:
        return []
    problem.require_batch("room")
    round_of: dict[str, int] = {}
    for number, part in enumerate(plan.rounds or ()):
        round_of.update(dict.fromkeys(part.tasks, number))
    wanted = []
    for node, queue in zip(problem.nodes, queues, strict=True):
        tasks = [entry for entry in queue if entry < len(problem.tasks)]
        waiting = [problem.task_bytes(k) for k in tasks]
        before: int | None = None
        for place, entry in enumerate(queue):
            if entry >= len(problem.tasks):
                wanted.append(0)
                continue
            number = round_of.get(problem.tasks[entry].id, place)
            room = 0
            if place and node.disk_bytes is not None and number != before:
                room = _room_for(plan.room, waiting)
            wanted.append(room)
            before = number
            del waiting[0]
    return wanted


def _room_for(room: Room, waiting: Sequence[int]) -> int:
    """Return the number of bytes that the next, the mean or the largest of the waiting
    tasks needs.

    *waiting* holds the bytes of each waiting task.
    """
    if room == "next":
        return waiting[0]
    if room == "mean":
        return -(-sum(waiting) // len(waiting))
    return max(waiting)


def _carried(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    queues: list[list[int]],
    inputs: Sequence[Sequence[int]],
    rounds: list[list[int]] | None,
) -> list[list[Carried]]:
    """Return, for each node, the transfers of *plan* that are to be carried out.

    Files that the node only sends on come first. The others follow in the order in
    which the node's queue reads them.
    """
    problem.require_batch("carry_out")
    if plan.moves_model == "replay" or (plan.rounds is not None and rounds is None):
        kind = "rounds without barriers"
        if plan.moves_model == "replay":
            kind = "moves of a replay"
        raise SimulationError(
            f"carry_out: {kind} cannot be carried out; they are advice only"
        )
    rank = _reading_order(queues, inputs, rounds)
    moves: list[list[Carried]] = [[] for _ in queues]
    for number, (remote, copies) in enumerate(plan.moves_by_round()):
        sent = {(name, source) for name, source, _ in copies}
        rows = [*((name, None, target) for name, target in remote), *copies]
        for name, source, target in rows:
            start = -1
            if source is not None:
                start = require_place("node", source, problem.node_index, "carry_out")
            end = require_place("node", target, problem.node_index, "carry_out")
            file = require_place("file", name, problem.file_index, "carry_out")
            if (number, end, file) not in rank and (name, target) not in sent:
                text = (
                    f"carry_out: {name} is sent to {target}, where no task reads "
                    "it and it is not sent on"
                )
                raise SimulationError(text)
            moves[end].append((file, start, number))
    for i, row in enumerate(moves):
        row.sort(key=lambda move: (move[2], rank.get((move[2], i, move[0]), -1), move))
    return moves


def _reading_order(
    queues: list[list[int]],
    inputs: Sequence[Sequence[int]],
    rounds: list[list[int]] | None,
) -> dict[tuple[int, int, int], int]:
    """Number every (round, node, file) in the order in which the queues first read the
    file.
    """
    rank: dict[tuple[int, int, int], int] = {}
    for i, queue in enumerate(queues):
        for place, entry in enumerate(queue):
            number = 0
            if rounds is not None:
                number = rounds[i][place]
            for file in inputs[entry]:
                rank.setdefault((number, i, file), len(rank))
    return rank


REPORT_SECONDS_PER_READ = 3e-5
"""Seconds that schedule, timeline and check take for each task and each input of a
task.
"""
CHEAP_SECONDS = 0.3
"""Estimated seconds of a replay with its report below which the deadline is not
checked.
"""
INSTANTS = 1_000
"""Instants between two checks of the deadline."""


def simulate(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    link: LinkModel | None = None,
    engine: Engine = "auto",
    deadline: Deadline | None = None,
    actual: Mapping[str, float] | None = None,
) -> Simulation:
    """Replay the queues ``plan.order`` with the eviction policy, rounds and barriers of
    the plan.

    A plan with ``dispatches`` is replayed by that record instead. A bound plan cannot
    be replayed by rules; :func:`ioopt.sim.replication.follow.follow` simulates it.

    *actual* gives compute seconds that differ from the planned ones, keyed by task id.
    *link* overrides the instance's link model. *engine* picks the plain or the compiled
    kernel, which agree. Raises SimulationError, with the name of the item, for queues
    that leave a task out, run a task twice, name something unknown, form a dependency
    cycle or can never proceed. Raises UsageError for invalid *actual* times, and
    OutOfTime if the report and its check would end too long after *deadline*.
    """
    replay = replayed(problem, plan, link, engine, deadline, actual)
    found = report(problem, link, replay, actual)
    return replace(found, objective_notes=other_moves(plan, found.schedule))


def replayed(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    link: LinkModel | None = None,
    engine: Engine = "auto",
    deadline: Deadline | None = None,
    actual: Mapping[str, float] | None = None,
) -> Replay:
    """Replay a plan that is not bound, and return its records; arguments and errors are
    those of :func:`simulate`.
    """
    if plan.bound_moves is not None:
        raise SimulationError("moves: the plan is bound; no rules replay it")
    if problem.is_workflow:
        problem.require_room()
    require_actual(problem, actual)
    if plan.dispatches is not None:
        from ioopt.sim.replication.dispatch import replay_record

        return replay_record(problem, plan, link, engine, deadline, actual)
    make = maker_for(problem, engine)
    until = replay_deadline(problem, deadline, make)
    parsed = Entries.of(problem, plan)
    queues = parsed.as_queues(plan)
    run = make.function(kernel.begin_or_advance)
    room = max(64, 2 * sum(map(len, problem.inputs)))
    instants = INSTANTS if until else 1 << 60
    while True:
        world = build_world(
            problem, queues, make, link, parsed.copy_files, actual, room
        )
        code = kernel.PAUSED
        while code == kernel.PAUSED:
            makespan, code = run(world, instants, kernel.REPLAY, 0)
            if code == kernel.PAUSED and until is not None and until.expired():
                raise too_long(problem)
        if code != kernel.LOG_FULL:
            break
        room *= 4
    if code == kernel.STUCK:
        raise stuck(problem, world, parsed, plan.carry_out)
    return Replay(world, parsed.listed(), makespan)


def report_seconds(problem: ReplicationProblem) -> float:
    """Return the estimated seconds that the report of a replay and its check take."""
    reads = sum(map(len, problem.inputs)) + len(problem.tasks)
    return REPORT_SECONDS_PER_READ * reads


def replay_fits(problem: ReplicationProblem, deadline: Deadline) -> bool:
    """Return whether *deadline* leaves enough time for :func:`simulate` to begin a
    replay.
    """
    try:
        replay_deadline(problem, deadline, maker_for(problem))
    except OutOfTime:
        return False
    return True


def replay_deadline(
    problem: ReplicationProblem, deadline: Deadline | None, make: Maker
) -> Deadline | None:
    """Return the deadline of the replay itself, which leaves time for the report.

    Return None without a limit, or if the replay takes almost no time. Raises OutOfTime
    if the time left is far too short.
    """
    if deadline is None or deadline.limit_seconds is None:
        return None
    replaying = replay_seconds(problem, make)
    after = report_seconds(problem)
    if replaying + after < CHEAP_SECONDS:
        return None
    until = deadline.with_overtime(after)
    # The estimate is that of a busy machine; an idle one takes about half of it.
    if replaying > 2.0 * until.remaining():
        raise too_long(problem)
    return until


def too_long(problem: ReplicationProblem) -> OutOfTime:
    return OutOfTime(
        f"replaying {len(problem.tasks)} tasks on {len(problem.nodes)} nodes takes "
        "longer than the time limit leaves"
    )


def stuck(
    problem: ReplicationProblem, world: World, parsed: Entries, carried: bool
) -> SimulationError:
    """Return the error for a replay that got stuck; it names the first node that
    waits.
    """
    for i, node in enumerate(problem.nodes):
        at = world.nodes[i]
        place = at.head - at.first_place
        if at.idle == node.cores and place < len(parsed.queues[i]):
            entry = parsed.queues[i][place]
            if entry < len(problem.tasks):
                files = list(problem.inputs[entry])
            else:
                files = [parsed.copy_files[entry - len(problem.tasks)]]
            first = i * len(problem.files)
            missing = [
                problem.files[f].id for f in files if world.cells[first + f].has != 1
            ]
            why = (
                "no move of the plan brings" if carried else "its disk has no room for"
            )
            return SimulationError(
                f"node {node.id} waits for ever at {parsed.names[entry]!r}: {why} "
                f"{', '.join(missing) or 'its round'}"
            )
    return SimulationError("the replay stopped before its end")


def noisy_seconds(
    problem: ReplicationProblem, sigma: float, seed: int = 0
) -> dict[str, float]:
    """Return, keyed by task id, the compute seconds of each task times a lognormal
    factor with median 1.

    *sigma* is the standard deviation of the factor's logarithm: 0.3 for good estimates
    of compute times, 0.8 for poor ones. Raises UsageError if *sigma* is negative or
    above 10.
    """
    if not 0 <= sigma <= 10:
        raise UsageError(f"the noise of compute times must be 0 to 10, not {sigma}")
    draw = random.Random(seed)
    factors = [draw.lognormvariate(0.0, sigma) for _ in problem.tasks]
    return {
        task.id: min(task.compute_seconds * factor, float(LONGEST_SECONDS))
        for task, factor in zip(problem.tasks, factors, strict=True)
    }
