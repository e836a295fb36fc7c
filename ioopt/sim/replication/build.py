"""Make the records of a replay (:mod:`ioopt.sim.replication.world`) from a problem and
a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ioopt.compiled.library import MOST, Engine, maker
from ioopt.compiled.memory import Maker
from ioopt.errors import UsageError
from ioopt.problems.base import LONGEST_SECONDS
from ioopt.problems.replication import (
    RULES,
    EvictionPolicy,
    LinkModel,
    ReplayOptions,
    ReplicationProblem,
)
from ioopt.sim.fluid import (
    CROSSED,
    CROSSED_WITH_DISKS,
    WEIGHTS,
    Busy,
    Flow,
    Fluid,
    Resource,
)
from ioopt.sim.replication.world import (
    FARTHEST_NEXT_USE,
    LRU,
    POPULARITY,
    Cell,
    Core,
    Drop,
    Entry,
    Eviction,
    File,
    Held,
    Move,
    Node,
    Place,
    Read,
    Round,
    Run,
    Transfer,
    Victim,
    World,
)

if TYPE_CHECKING:
    from ioopt.arrays import Floats

POLICIES = {
    "farthest-next-use": FARTHEST_NEXT_USE,
    "popularity": POPULARITY,
    "lru": LRU,
}


@dataclass(frozen=True)
class Queues:
    """The queues of a plan, as entries for each node in order, and how to replay them.

    Entries are the tasks, then the copy entries. ``rounds``, given with barriers, holds
    the round of each place in the queues. ``drops`` holds, for each round, the (file,
    node) pairs to evict when the round opens. ``clear`` holds the number of bytes to be
    free for each place. ``carried`` holds, for each node, (file, source, round) of the
    moves to carry out.
    """

    queues: Sequence[Sequence[int]]
    eviction: EvictionPolicy = "farthest-next-use"
    rounds: Sequence[Sequence[int]] | None = None
    drops: Sequence[Sequence[tuple[int, int]]] = ()
    clear: Sequence[int] = ()
    carried: Sequence[Sequence[tuple[int, int, int]]] | None = None
    options: ReplayOptions = RULES


@dataclass(frozen=True)
class Noise:
    """Latency and unfair sharing of noisy replays (timeline rules 9 and 10).

    Bytes move ``latency_seconds`` after the start of a transfer. ``sharing_noise`` is
    the standard deviation of the logarithm of a flow's weight.
    """

    latency_seconds: float = 0.0
    sharing_noise: float = 0.0

    def weights(self) -> Floats:
        """Return the weights from which each draw selects."""
        normal = np.random.default_rng(WEIGHTS).standard_normal(WEIGHTS)
        return np.exp(self.sharing_noise * normal)


def maker_for(problem: ReplicationProblem, engine: Engine = "auto") -> Maker:
    """Return the maker of the records of *problem*: compiled, if its numbers surely fit
    into 64 bits.
    """
    return maker(_most_bytes(problem), engine)


def _most_bytes(problem: ReplicationProblem) -> int:
    """Return a number above every number of bytes of a replay."""
    sizes = [file.bytes for file in problem.files]
    moved = sum(map(len, problem.inputs)) + sum(map(len, problem.outputs))
    held = sum(map(len, problem.holds))
    memory = [task.memory_bytes for task in problem.tasks]
    return max(max(sizes, default=0) * 4 * (1 + moved + held), sum(memory))


def build_world(
    problem: ReplicationProblem,
    plan: Queues,
    make: Maker,
    link: LinkModel | None = None,
    copy_entries: Sequence[int] = (),
    actual: Mapping[str, float] | None = None,
    room: int = 0,
    noise: Noise | None = None,
) -> World:
    """Return the records of a replay of *plan*; the kernel sets their state.

    *link* overrides the link model of *problem*. *copy_entries* are the files of the
    plan's copy entries. *actual* gives compute seconds at speed 1 that replace the
    planned ones, keyed by task id (workflow rule 10). The log has room for *room*
    transfers and as many evictions; if it is 0, nothing is logged. With *noise*,
    transfers have its latency, and set ``draw`` for a replay under unfair sharing.
    """
    nodes = problem.nodes
    listed = list(chain.from_iterable(plan.queues))
    tasks = range(len(problem.tasks))
    read = [*problem.inputs, *((file,) for file in copy_entries)]
    written: list[Sequence[int]] = [*problem.outputs, *(() for _ in copy_entries)]
    used_cores = _used_cores(problem, copy_entries)
    own_flows = 0 if problem.is_shared else _num_flows(problem)
    flows = own_flows
    if problem.task_disk or problem.is_shared:
        flows += sum(used_cores)
    entries = _entries(problem, make, read, written, copy_entries, actual)
    releases = [entries[k].release for k in tasks]
    world = make.table(
        World,
        num_nodes=len(nodes),
        num_files=len(problem.files),
        num_tasks=len(tasks),
        num_storages=len(problem.storages),
        shared=int((link or problem.network.remote_link) == "shared"),
        plain=int(not problem.is_workflow),
        policy=POLICIES[plan.eviction],
        num_entries=len(listed),
        num_rounds=len(plan.drops),
        barriers=int(plan.rounds is not None),
        least_loaded=int(plan.options.sources == "least-loaded"),
        clearing=int(len(plan.clear) > 0),
        carried=int(plan.carried is not None),
        logging=int(room > 0),
        task_disk=int(problem.task_disk),
        task_flows=own_flows,
        products_shared=int(problem.is_shared),
        caches_made=int(problem.caches_made),
        run=make.records(Run, 1)[0],
        fluid=_fluid(problem, flows, noise, make),
        files=_files(problem, make),
        nodes=_nodes(problem, plan, used_cores, make),
        cells=make.records(Cell, len(nodes) * len(problem.files)),
        entries=entries,
        reads=make.records(
            Read, sum(map(len, read)), file=list(chain.from_iterable(read))
        ),
        outputs=make.ints(chain.from_iterable(written)),
        held=_held(problem, make),
        cores=_cores(used_cores, make),
        by_release=make.ints(sorted(tasks, key=releases.__getitem__)),
        finished=make.ints([0] * len(entries)),
        places=_places(plan, listed, make),
        rounds=_rounds(plan, make),
        drops=_drops(plan, make),
        moves=_moves(plan, make),
        transfers=make.records(Transfer, room),
        evictions=make.records(Eviction, room),
        victims=make.records(Victim, len(problem.files)),
    )
    return world


def _fluid(
    problem: ReplicationProblem, flows: int, noise: Noise | None, make: Maker
) -> Fluid:
    """Return the resources of *problem* and so many *flows*."""
    crossed = CROSSED_WITH_DISKS if problem.task_disk else CROSSED
    return make.table(
        Fluid,
        crossed=crossed,
        latency=0.0 if noise is None else noise.latency_seconds,
        flows=make.records(Flow, flows),
        resources=_resources(problem, make),
        busy=make.records(Busy, flows),
        use=make.ints([0] * (crossed * flows)),
        weights=make.floats([1.0] if noise is None else noise.weights()),
    )


def _places(plan: Queues, listed: Sequence[int], make: Maker) -> list[Place]:
    """Return the places of the queues, whose entries are *listed*."""
    rounds = list(chain.from_iterable(plan.rounds or ())) or 0
    return make.records(
        Place, len(listed), entry=listed, round=rounds, clear=plan.clear or 0
    )


def _rounds(plan: Queues, make: Maker) -> list[Round]:
    """Return the rounds of a plan with barriers."""
    ends = _ends(map(len, plan.drops))
    return make.records(Round, len(plan.drops), first_drop=ends[:-1], end_drop=ends[1:])


def _drops(plan: Queues, make: Maker) -> list[Drop]:
    """Return what is evicted when rounds open."""
    drops = list(chain.from_iterable(plan.drops))
    return make.records(
        Drop,
        len(drops),
        file=[file for file, _ in drops],
        node=[node for _, node in drops],
    )


def _moves(plan: Queues, make: Maker) -> list[Move]:
    """Return the moves to carry out."""
    moves = list(chain.from_iterable(plan.carried or ()))
    return make.records(
        Move,
        len(moves),
        file=[file for file, _, _ in moves],
        source=[source for _, source, _ in moves],
        round=[number for _, _, number in moves],
    )


def give_queues(
    world: World,
    queues: Sequence[Sequence[int]],
    eviction: EvictionPolicy,
    rounds: Sequence[Sequence[int]] = (),
) -> None:
    """Write *queues* and the eviction policy into *world*, in place of its plan.

    Barriers separate *rounds*, which list the entries of all queues; there are none if
    it is empty. The queues have no more places, and no more rounds, than the plan
    before.
    """
    world.policy = POLICIES[eviction]
    world.barriers = int(len(rounds) > 0)
    world.num_rounds = len(rounds)
    round_of = {}
    for number, entries in enumerate(rounds):
        round_of.update(dict.fromkeys(entries, number))
    place = 0
    for node, queue in zip(world.nodes, queues, strict=True):
        node.first_place = place
        for entry in queue:
            world.places[place].entry = entry
            if rounds:
                world.places[place].round = round_of[entry]
            place += 1
        node.end_place = place
    world.num_entries = place


def _files(problem: ReplicationProblem, make: Maker) -> list[File]:
    """Return the records of the files."""
    storages = {storage.id: s for s, storage in enumerate(problem.storages)}
    files = problem.files
    product = [int(writer >= 0) for writer in problem.producer]
    keep = []
    for file, made in zip(files, product, strict=True):
        # On shared storage every product is kept.
        keep.append(int(file.keep and made and not problem.is_shared))
    return make.records(
        File,
        len(files),
        size=[file.bytes for file in files],
        storage=[
            -1 if file.storage is None else storages[file.storage] for file in files
        ],
        product=product,
        keep=keep,
    )


def _used_cores(problem: ReplicationProblem, copy_entries: Sequence[int]) -> list[int]:
    """Return, for each node, the number of cores that can ever be busy together."""
    most = sum(task.cores for task in problem.tasks) + len(copy_entries)
    return [max(1, min(node.cores, most)) for node in problem.nodes]


def _num_flows(problem: ReplicationProblem) -> int:
    """Return the number of transfers that can run at once."""
    return _own_flows(problem) + sum(node.staging - 1 for node in problem.nodes)


def _own_flows(problem: ReplicationProblem) -> int:
    """Return the number of flows before those of nodes that receive several files at
    once.
    """
    return len(problem.nodes) * (2 if problem.is_workflow else 1)


def _nodes(
    problem: ReplicationProblem, plan: Queues, used_cores: Sequence[int], make: Maker
) -> list[Node]:
    """Return the records of the nodes."""
    nodes = problem.nodes
    cores = _ends(used_cores)
    slots = _ends((node.staging - 1 for node in nodes), _own_flows(problem))
    places = _ends(map(len, plan.queues))
    moves = _ends(map(len, plan.carried or [()] * len(nodes)))
    unlimited = max(MOST, _most_bytes(problem))
    disks = [
        unlimited if node.disk_bytes is None else node.disk_bytes for node in nodes
    ]
    memory = [
        unlimited if node.memory_bytes is None else node.memory_bytes for node in nodes
    ]
    return make.records(
        Node,
        len(nodes),
        disk=disks,
        memory=memory,
        speed=[node.speed for node in nodes],
        cores=[node.cores for node in nodes],
        staging=[node.staging for node in nodes],
        first_core=cores[:-1],
        end_core=cores[1:],
        first_slot=slots[:-1],
        end_slot=slots[1:],
        first_place=places[:-1],
        end_place=places[1:],
        first_move=moves[:-1],
        end_move=moves[1:],
    )


def _cores(used_cores: Sequence[int], make: Maker) -> list[Core]:
    """Return the records of the cores, *used_cores* on each node."""
    node: list[int] = []
    for i, count in enumerate(used_cores):
        node += [i] * count
    return make.records(Core, len(node), node=node)


def _entries(
    problem: ReplicationProblem,
    make: Maker,
    read: Sequence[Sequence[int]],
    written: Sequence[Sequence[int]],
    copy_entries: Sequence[int],
    actual: Mapping[str, float] | None,
) -> list[Entry]:
    """Return the records of the entries, which read and write the files *read* and
    *written*.

    A copy entry arrives with the first reader of its file (workflow rule 1).
    """
    told = actual or {}
    compute = [told.get(task.id, task.compute_seconds) for task in problem.tasks]
    cores = [task.cores for task in problem.tasks]
    memory = [task.memory_bytes for task in problem.tasks]
    overhead = [task.overhead_seconds for task in problem.tasks]
    release = [task.release_seconds for task in problem.tasks]
    for file in copy_entries:
        compute.append(0.0)
        cores.append(1)
        memory.append(0)
        overhead.append(0.0)
        readers = problem.readers[file]
        release.append(min((release[k] for k in readers), default=0.0))
    inputs = _ends(map(len, read))
    outputs = _ends(map(len, written))
    out_bytes = []
    disk_bytes = []
    for reads, writes in zip(read, written, strict=True):
        size = sum([problem.files[file].bytes for file in writes])
        out_bytes.append(size)
        disk_bytes.append(size + sum([problem.files[file].bytes for file in reads]))
    return make.records(
        Entry,
        len(read),
        compute=compute,
        overhead=overhead,
        release=release,
        memory=memory,
        cores=cores,
        out_bytes=out_bytes,
        disk_bytes=disk_bytes,
        first_input=inputs[:-1],
        end_input=inputs[1:],
        first_output=outputs[:-1],
        end_output=outputs[1:],
    )


def _held(problem: ReplicationProblem, make: Maker) -> list[Held]:
    """Return the files on the disks at time 0."""
    node: list[int] = []
    file: list[int] = []
    for i, files in enumerate(problem.holds):
        node += [i] * len(files)
        file += sorted(files)
    return make.records(Held, len(node), node=node, file=file)


def _resources(problem: ReplicationProblem, make: Maker) -> list[Resource]:
    """Return the network interface of every node, every storage, and all links; and the
    disk of every node if tasks use it.
    """
    network = problem.network
    nodes = problem.nodes
    disks = [node.disk_bytes_per_second or float("inf") for node in nodes]
    doors = [network.replica_bytes_per_second] * len(nodes)
    own_disks = disks
    if not problem.task_disk:
        # The same transfers cross a node's interface and its disk.
        doors = [min(network.replica_bytes_per_second, rate) for rate in disks]
        own_disks = []
    rates = [
        *doors,
        *(storage.bytes_per_second for storage in problem.storages),
        *([network.remote_bytes_per_second] * (1 + len(nodes))),
        *own_disks,
    ]
    return make.records(Resource, len(rates), capacity=rates)


def _ends(lengths: Iterable[int], first: int = 0) -> list[int]:
    """Return the index at which each row begins, and the index at which the last row
    ends.

    *lengths* are the lengths of rows stored one after the other from index *first* on.
    """
    return list(accumulate(lengths, initial=first))


def require_actual(
    problem: ReplicationProblem, actual: Mapping[str, float] | None
) -> None:
    """Raise UsageError if *actual* names an unknown task or has invalid compute
    seconds.
    """
    for name, seconds in (actual or {}).items():
        if name not in problem.task_index:
            raise UsageError(f"actual_compute_seconds: there is no task {name!r}")
        if not isinstance(seconds, Real) or not 0 <= seconds <= LONGEST_SECONDS:
            raise UsageError(
                f"actual_compute_seconds of {name!r}: {seconds!r} is no time from 0 on"
            )


SECONDS_PER_CELL = 3e-6
"""Seconds that a replay takes in plain Python for each pair of a task's input and a
node.
"""


def replay_seconds(problem: ReplicationProblem, make: Maker) -> float:
    """Return the estimated seconds of a replay on a busy machine, with the records of
    *make*.
    """
    cells = sum(map(len, problem.inputs)) * len(problem.nodes)
    return SECONDS_PER_CELL * cells / make.times
