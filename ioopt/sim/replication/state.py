"""Flat arrays in which the replication simulator keeps an instance, a plan, its state and its log.

The same fields are numpy arrays for the compiled kernel and lists for the pure Python one. A matrix
over nodes and files is flat: cell (i, f) stands at ``i * num_files + f``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ioopt.problems.replication import LinkModel, ReplicationProblem

UNLIMITED = 1 << 62
POLICIES = {"farthest-next-use": 0, "popularity": 1, "lru": 2}


class Instance(NamedTuple):
    """What does not change during a replay. Sizes in bytes, rates in bytes per second.

    Entries are the tasks (0 .. num_tasks - 1), then the copy entries of the plan; the files of
    entry e are ``files[ptr[e]:ptr[e + 1]]``. ``capacity`` lists the resources that transfers
    cross: the NICs, the storages, the shared link, the private links. ``shared`` is 1 for the
    shared link, 0 for private ones. ``held_node`` and ``held_file`` are on disk at time 0.
    """

    num_nodes: int
    num_files: int
    num_tasks: int
    num_storages: int
    shared: int
    size: Any
    storage: Any
    disk: Any
    speed: Any
    capacity: Any
    compute: Any
    ptr: Any
    files: Any
    held_node: Any
    held_file: Any


class Queues(NamedTuple):
    """The queues of a plan: node i runs ``entry[ptr[i]:ptr[i + 1]]`` in order.

    With ``barriers`` 1, ``round_of`` gives the round of each place, and as round r opens the files
    ``drop_file[drop_ptr[r]:drop_ptr[r + 1]]`` leave the nodes ``drop_node``.
    """

    ptr: Any
    entry: Any
    policy: int
    barriers: int
    num_rounds: int
    round_of: Any
    drop_ptr: Any
    drop_node: Any
    drop_file: Any


class State(NamedTuple):
    """What changes during a replay; the kernel resets it, so one State serves many replays.

    ``has``: 0 no, 1 complete, 2 on its way. ``pin``: how many reasons keep the file. ``nxt``: place of
    the first unstarted reader on that node (-1 none), ``follow`` the one after each input.
    ``need``, ``freq``: unstarted readers, unfinished tasks. ``copies``, ``flying``: complete, on
    their way. ``residents`` lists a node's files and ``seat`` where each stands. ``clock``: time
    now, end of the last entry. The rest is one value a node, and scratch.
    """

    has: Any
    pin: Any
    nxt: Any
    last_use: Any
    residents: Any
    seat: Any
    follow: Any
    need: Any
    freq: Any
    copies: Any
    flying: Any
    num_residents: Any
    used: Any
    head: Any
    staged: Any
    running: Any
    run_end: Any
    recv: Any
    source: Any
    left: Any
    rate: Any
    since: Any
    due: Any
    slot: Any
    round_left: Any
    counters: Any
    clock: Any
    victims: Any
    keys: Any
    use: Any
    rates: Any
    room: Any
    crossing: Any
    receivers: Any


class Log(NamedTuple):
    """What happened, in the order in which it started; empty arrays where only the score counts."""

    enabled: int
    task_start: Any
    task_end: Any
    file: Any
    source: Any
    destination: Any
    start: Any
    end: Any
    evicted_file: Any
    evicted_node: Any
    evicted_at: Any


# Cells of State.counters.
OPENED, ENDED, TRANSFERS, EVICTIONS, CHANGED, REMOTE_BYTES, REPLICA_BYTES, REMOTE_COUNT, OWED = (
    range(9)
)
BEGUN = 9
NUM_COUNTERS = 10


def _ints(values: Iterable[int], compiled: bool) -> Any:
    if compiled:
        import numpy

        return numpy.array(list(values), dtype=numpy.int64)
    return list(values)


def _floats(values: Iterable[float], compiled: bool) -> Any:
    if compiled:
        import numpy

        return numpy.array(list(values), dtype=numpy.float64)
    return [float(value) for value in values]


def _zeros(length: int, compiled: bool, kind: str = "int32") -> Any:
    if compiled:
        import numpy

        return numpy.zeros(length, dtype=kind)
    return [0.0 if kind == "float64" else 0] * length


def instance_arrays(
    problem: ReplicationProblem,
    link: LinkModel | None = None,
    copy_entries: Sequence[int] = (),
    compiled: bool = True,
) -> Instance:
    """The arrays of *problem*; *link* overrides its link model, *copy_entries* name their files."""
    network = problem.network
    storages = {storage.id: s for s, storage in enumerate(problem.storages)}
    nodes, files = problem.nodes, problem.files
    rows = [*problem.inputs, *((file,) for file in copy_entries)]
    ptr = [0]
    for row in rows:
        ptr.append(ptr[-1] + len(row))
    capacity = [
        *([network.replica_bytes_per_second] * len(nodes)),
        *(storage.bytes_per_second for storage in problem.storages),
        *([network.remote_bytes_per_second] * (1 + len(nodes))),
    ]
    held = [(i, file) for i, held in enumerate(problem.holds) for file in sorted(held)]
    return Instance(
        num_nodes=len(nodes),
        num_files=len(files),
        num_tasks=len(problem.tasks),
        num_storages=len(storages),
        shared=int((link or network.remote_link) == "shared"),
        size=_ints((file.bytes for file in files), compiled),
        storage=_ints(
            (-1 if file.storage is None else storages[file.storage] for file in files), compiled
        ),
        disk=_ints(
            (UNLIMITED if node.disk_bytes is None else node.disk_bytes for node in nodes), compiled
        ),
        speed=_floats((node.speed for node in nodes), compiled),
        capacity=_floats(capacity, compiled),
        compute=_floats(
            [*(task.compute_seconds for task in problem.tasks), *([0.0] * len(copy_entries))],
            compiled,
        ),
        ptr=_ints(ptr, compiled),
        files=_ints((file for row in rows for file in row), compiled),
        held_node=_ints((i for i, _ in held), compiled),
        held_file=_ints((file for _, file in held), compiled),
    )


def queue_arrays(
    queues: Sequence[Sequence[int]],
    policy: str,
    rounds: Sequence[Sequence[int]] | None = None,
    drops: Sequence[Sequence[tuple[int, int]]] = (),
    compiled: bool = True,
) -> Queues:
    """The arrays of a plan: *queues* hold entries; *rounds* (with barriers) a round for each place.

    *drops* are, per round, the (file, node) pairs that leave as it opens.
    """
    ptr, drop_ptr = [0], [0]
    for queue in queues:
        ptr.append(ptr[-1] + len(queue))
    for row in drops:
        drop_ptr.append(drop_ptr[-1] + len(row))
    places = [r for row in rounds for r in row] if rounds is not None else []
    return Queues(
        ptr=_ints(ptr, compiled),
        entry=_ints((entry for queue in queues for entry in queue), compiled),
        policy=POLICIES[policy],
        barriers=int(rounds is not None),
        num_rounds=len(drops),
        round_of=_ints(places, compiled),
        drop_ptr=_ints(drop_ptr, compiled),
        drop_node=_ints((node for row in drops for _, node in row), compiled),
        drop_file=_ints((file for row in drops for file, _ in row), compiled),
    )


def new_state(inst: Instance, num_rounds: int = 1, compiled: bool = True) -> State:
    """Room for the state of a replay of *inst*; values are set by the kernel."""
    nodes, files = inst.num_nodes, inst.num_files
    cells, resources = nodes * files, len(inst.capacity)

    def ints(length: int) -> Any:
        return _zeros(length, compiled)

    def longs(length: int) -> Any:
        return _zeros(length, compiled, "int64")

    def floats(length: int) -> Any:
        return _zeros(length, compiled, "float64")

    return State(
        has=_zeros(cells, compiled, "int8"), pin=ints(cells), nxt=ints(cells),
        last_use=floats(cells), residents=ints(cells), seat=ints(cells),
        follow=ints(len(inst.files)), need=ints(files), freq=ints(files), copies=ints(files),
        flying=ints(files), num_residents=ints(nodes), used=longs(nodes), head=longs(nodes),
        staged=longs(nodes), running=longs(nodes), run_end=floats(nodes), recv=longs(nodes),
        source=longs(nodes), left=floats(nodes), rate=floats(nodes), since=floats(nodes),
        due=floats(nodes), slot=longs(nodes), round_left=longs(num_rounds),
        counters=longs(NUM_COUNTERS), clock=floats(2), victims=longs(files), keys=floats(files),
        use=longs(3 * nodes), rates=floats(nodes), room=floats(resources),
        crossing=longs(resources), receivers=longs(nodes),
    )  # fmt: skip


def new_log(inst: Instance, transfers: int, evictions: int, compiled: bool = True) -> Log:
    """Room for a log of so many transfers and evictions; (0, 0) makes one that records nothing."""
    enabled = transfers > 0
    entries = len(inst.ptr) - 1 if enabled else 0

    def ints(length: int) -> Any:
        return _zeros(length, compiled, "int64")

    def floats(length: int) -> Any:
        return _zeros(length, compiled, "float64")

    return Log(
        int(enabled), floats(entries), floats(entries), ints(transfers), ints(transfers),
        ints(transfers), floats(transfers), floats(transfers), ints(evictions), ints(evictions),
        floats(evictions),
    )  # fmt: skip
