"""Store an instance, a plan, the state and the log of a replay in flat arrays.

The fields are numpy arrays for the compiled kernel and lists for the plain Python
kernel. A matrix over nodes and files is flat: its value for node i and file f is at
index ``i * num_files + f``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ioopt.compiled import boxes
from ioopt.errors import UsageError
from ioopt.problems.base import LONGEST_SECONDS
from ioopt.problems.replication import (
    RULES,
    LinkModel,
    ReplayOptions,
    ReplicationProblem,
)

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

UNLIMITED = 1 << 62
POLICIES = {"farthest-next-use": 0, "popularity": 1, "lru": 2}


class Instance(NamedTuple):
    """Store what does not change during a replay. Sizes are in bytes, rates in bytes
    per second.

    Entries are the tasks (0 .. num_tasks - 1), then the copy entries of the plan. The
    files that entry e reads are ``files[ptr[e]:ptr[e + 1]]``. ``capacity`` lists the
    rates of the resources that transfers cross: the network interfaces of nodes, the
    storages, the shared link, the private links. ``shared`` is 1 if remote transfers
    use the shared link, 0 if they use private links. At time 0 the file
    ``held_file[x]`` is on the disk of the node ``held_node[x]``.

    The following fields matter only for workflows (``plain`` is 0). Entry e writes
    ``outs[out_ptr[e]:out_ptr[e + 1]]``, ``out_bytes[e]`` in all. It occupies
    ``cores[e]`` cores and arrives at time ``release[e]``. ``by_release`` lists the
    tasks in order of arrival. ``node_cores`` is the number of cores of each node. The
    cores of node i that can ever be busy together are numbered ``core_ptr[i]`` to
    ``core_ptr[i + 1] - 1``, and ``core_node`` holds the node of each. ``product`` is 1
    for files that a task writes, and ``keep`` is 1 for those that must be saved.

    ``num_flows`` is the number of transfers that can run at once. Each node has a flow
    for a file that it receives and, in workflows, one for a file that it saves. A node
    that receives several files at once (``staging``) has the further flows
    ``slot_ptr[i]`` to ``slot_ptr[i + 1] - 1``.
    """

    num_nodes: int
    num_files: int
    num_tasks: int
    num_storages: int
    shared: int
    size: Ints
    storage: Ints
    disk: Ints
    speed: Floats
    capacity: Floats
    compute: Floats
    ptr: Ints
    files: Ints
    held_node: Ints
    held_file: Ints
    plain: int
    num_flows: int
    out_ptr: Ints
    outs: Ints
    out_bytes: Ints
    cores: Ints
    release: Floats
    by_release: Ints
    node_cores: Ints
    core_ptr: Ints
    core_node: Ints
    product: Ints
    keep: Ints
    staging: Ints
    slot_ptr: Ints


class Queues(NamedTuple):
    """Store the queues of a plan: node i runs the entries ``entry[ptr[i]:ptr[i + 1]]``
    in this order.

    If ``barriers`` is 1, ``round_of`` holds the round of each place in the queues. When
    round r opens, the files ``drop_file[drop_ptr[r]:drop_ptr[r + 1]]`` are evicted from
    the nodes in ``drop_node``.

    If queues are ``growing``, a queue ends in OPEN, or in CLOSED once no entry will be
    added. A decision that depends on entries not yet added is left out. The counter
    WANTED then holds 1 plus the number of the node whose queue must grow first.

    ``least_loaded`` is an option of a plan beyond the rules. ``clear`` holds the number
    of bytes to be free before the entry of each place is staged; it is empty if this
    does not apply. If moves are ``carried``, node i receives the files
    ``move_file[move_ptr[i]:move_ptr[i + 1]]``, each from its ``move_source`` and in its
    ``move_round``.
    """

    ptr: Ints
    entry: Ints
    policy: int
    barriers: int
    num_rounds: int
    round_of: Ints
    drop_ptr: Ints
    drop_node: Ints
    drop_file: Ints
    clear: Ints
    move_ptr: Ints
    move_file: Ints
    move_source: Ints
    move_round: Ints
    growing: int = 0
    least_loaded: int = 0
    carried: int = 0


class State(NamedTuple):
    """Store what changes during a replay; the kernel resets it before every replay.

    With one value for each node and file: ``has`` is 0 if the file is not there, 1 if
    it is complete, 2 if it is on its way or being written. ``pin`` is the number of
    reasons why the file must not leave the node. ``nxt`` is the place of the first
    unstarted reader in the node's queue (-1: none). ``last_use`` is the time of the
    last use. ``residents`` lists the files of a node, and ``seat`` holds the position
    of a file in that list.

    ``follow`` has one value for each input of an entry: the place of the next reader
    after that entry in the same queue.

    With one value for each file: ``need`` is the number of unstarted readers, and
    ``freq`` the number of unfinished readers. ``copies`` is the number of complete
    copies, and ``flying`` the number of copies on their way. ``saved`` is 0 if the file
    is not on remote storage, 1 if it is on its way there, 2 if it is there. ``made`` is
    the time at which a product was written.

    With one value for each node: ``waiting`` is the number of products on the node that
    must be saved and whose save has not begun.

    With one value for each core: ``running`` is the entry on it (-1: none). ``run_end``
    is the entry's end at the first of its cores, infinity at the others. ``idle_since``
    is the time since which the core is idle.

    With one value for each flow (first one for the files that each node receives, then
    one for those that it saves): the fields from ``recv`` (the file, -1: none) to
    ``slot``. ``source`` and ``target`` are nodes; -1 is the remote storage.

    ``finished`` lists entries in the order of their ends. ``clock`` holds three times:
    now, the end of the last entry, and the time up to which everything is the same
    instant. The other fields have one value for each node, or are scratch space.
    """

    has: Ints
    pin: Ints
    nxt: Ints
    last_use: Floats
    residents: Ints
    seat: Ints
    follow: Ints
    need: Ints
    freq: Ints
    copies: Ints
    flying: Ints
    num_residents: Ints
    used: Ints
    head: Ints
    staged: Ints
    idle: Ints
    running: Ints
    run_end: Floats
    idle_since: Floats
    saved: Ints
    made: Floats
    waiting: Ints
    finished: Ints
    recv: Ints
    source: Ints
    target: Ints
    left: Floats
    rate: Floats
    since: Floats
    due: Floats
    slot: Ints
    round_left: Ints
    counters: Ints
    clock: Floats
    victims: Ints
    keys: Floats
    use: Ints
    rates: Floats
    room: Floats
    crossing: Ints
    receivers: Ints


class Log(NamedTuple):
    """Record the starts and ends of tasks, the transfers, and the evictions of a
    replay.

    Transfers and evictions are in the order of their starts. The arrays are empty if
    only the makespan is wanted.
    """

    enabled: int
    task_start: Floats
    task_end: Floats
    file: Ints
    source: Ints
    destination: Ints
    start: Floats
    end: Floats
    evicted_file: Ints
    evicted_node: Ints
    evicted_at: Floats


# Cells of State.counters.
(
    OPENED,
    ENDED,
    TRANSFERS,
    EVICTIONS,
    CHANGED,
    REMOTE_BYTES,
    REPLICA_BYTES,
    REMOTE_COUNT,
    OWED,
) = range(9)
BEGUN, REQUEST, SAVING, SAVES, SAVED_BYTES, SPILLS, REFETCHED = range(9, 16)
ARRIVED = 16
ROUND = 17
WANTED = 18
NUM_COUNTERS = 19
OPEN = -1
CLOSED = -2


def _zeros(length: int, compiled: bool, kind: str = "int32") -> Any:
    """Return zeros for a kernel: a numpy array of type *kind*, or a list."""
    if compiled:
        import numpy

        return numpy.zeros(length, dtype=kind)
    if kind == "float64":
        return [0.0] * length
    return [0] * length


def instance_arrays(
    problem: ReplicationProblem,
    link: LinkModel | None = None,
    copy_entries: Sequence[int] = (),
    compiled: bool = True,
    actual: Mapping[str, float] | None = None,
) -> Instance:
    """Return the arrays of *problem*; *link* overrides its link model.

    *copy_entries* are the files of the plan's copy entries. *actual* gives compute
    seconds at speed 1 that replace the planned ones, keyed by task id (workflow rule
    10).
    """
    told = actual or {}
    storages = {storage.id: s for s, storage in enumerate(problem.storages)}
    nodes = problem.nodes
    files = problem.files
    read = [*problem.inputs, *((file,) for file in copy_entries)]
    written: list[Sequence[int]] = list(problem.outputs)
    compute = []
    cores = []
    for task in problem.tasks:
        compute.append(told.get(task.id, task.compute_seconds))
        cores.append(task.cores)
    for _ in copy_entries:
        written.append(())
        compute.append(0.0)
        cores.append(1)
    held_node: list[int] = []
    held_file: list[int] = []
    core_node: list[int] = []
    used_cores = []
    most_cores = sum(cores)
    for i, node in enumerate(nodes):
        held_node += [i] * len(problem.holds[i])
        held_file += sorted(problem.holds[i])
        used_cores.append(max(1, min(node.cores, most_cores)))
        core_node += [i] * used_cores[i]
    release = _releases(problem, copy_entries)
    storage = [-1 if file.storage is None else storages[file.storage] for file in files]
    disk = [UNLIMITED if node.disk_bytes is None else node.disk_bytes for node in nodes]
    product = [int(maker >= 0) for maker in problem.producer]
    keep = []
    for file, made in zip(files, product, strict=True):
        keep.append(int(file.keep) * made)
    own_flows = len(nodes)
    if problem.is_workflow:
        own_flows += len(nodes)
    slots = list(accumulate((node.staging - 1 for node in nodes), initial=own_flows))
    box = boxes(compiled)
    return Instance(
        num_nodes=len(nodes),
        num_files=len(files),
        num_tasks=len(problem.tasks),
        num_storages=len(storages),
        shared=int((link or problem.network.remote_link) == "shared"),
        size=box([file.bytes for file in files]),
        storage=box(storage),
        disk=box(disk),
        speed=box([node.speed for node in nodes], real=True),
        capacity=box(_capacities(problem), real=True),
        compute=box(compute, real=True),
        ptr=box(_offsets(map(len, read))),
        files=box(list(chain.from_iterable(read))),
        held_node=box(held_node),
        held_file=box(held_file),
        plain=int(not problem.is_workflow),
        num_flows=slots[-1],
        out_ptr=box(_offsets(map(len, written))),
        outs=box(list(chain.from_iterable(written))),
        out_bytes=box([_bytes_of(problem, row) for row in written]),
        cores=box(cores),
        release=box(release, real=True),
        by_release=box(sorted(range(len(problem.tasks)), key=release.__getitem__)),
        node_cores=box([node.cores for node in nodes]),
        core_ptr=box(_offsets(used_cores)),
        core_node=box(core_node),
        product=box(product),
        keep=box(keep),
        staging=box([node.staging for node in nodes]),
        slot_ptr=box(slots),
    )


def _bytes_of(problem: ReplicationProblem, files: Sequence[int]) -> int:
    """Return the total number of bytes of *files*, given by index."""
    return sum([problem.files[file].bytes for file in files])


def _capacities(problem: ReplicationProblem) -> list[float]:
    """Return the rates, in bytes per second, of the network interface of every node, of
    every storage, and of all links.
    """
    network = problem.network
    nodes = problem.nodes
    # The same transfers cross a node's interface and its disk.
    disks = [node.disk_bytes_per_second or float("inf") for node in nodes]
    return [
        *(min(network.replica_bytes_per_second, rate) for rate in disks),
        *(storage.bytes_per_second for storage in problem.storages),
        *([network.remote_bytes_per_second] * (1 + len(nodes))),
    ]


def _releases(problem: ReplicationProblem, copy_entries: Sequence[int]) -> list[float]:
    """Return the time in seconds at which each entry arrives.

    A copy entry arrives with the first reader of its file (workflow rule 1).
    """
    release = [task.release_seconds for task in problem.tasks]
    readers = (problem.readers[file] for file in copy_entries)
    return release + [
        min((release[k] for k in tasks), default=0.0) for tasks in readers
    ]


def require_actual(
    problem: ReplicationProblem, actual: Mapping[str, float] | None
) -> None:
    """Raise UsageError if *actual* names an unknown task or has invalid compute
    seconds.
    """
    for name, seconds in (actual or {}).items():
        if name not in problem.task_index:
            raise UsageError(f"actual_compute_seconds: there is no task {name!r}")
        if not 0 <= seconds <= LONGEST_SECONDS:
            raise UsageError(
                f"actual_compute_seconds of {name!r}: {seconds!r} is no time from 0 on"
            )


def _offsets(lengths: Iterable[int]) -> list[int]:
    """Return the index at which each row begins, and the index at which the last row
    ends.

    *lengths* are the lengths of rows stored one after the other.
    """
    return [0, *accumulate(lengths)]


def queue_arrays(
    queues: Sequence[Sequence[int]],
    policy: str,
    rounds: Sequence[Sequence[int]] | None = None,
    drops: Sequence[Sequence[tuple[int, int]]] = (),
    compiled: bool = True,
    options: ReplayOptions = RULES,
    clear: Sequence[int] = (),
    carried: Sequence[Sequence[tuple[int, int, int]]] | None = None,
) -> Queues:
    """Return the arrays of a plan; *queues* holds the entries of each node in order.

    *rounds*, given with barriers, holds the round of each place in the queues. *drops*
    holds, for each round, the (file, node) pairs to evict when the round opens. *clear*
    holds the number of bytes to be free for each place. *carried* holds, for each node,
    (file, source, round) of the moves to carry out.
    """
    moves = list(chain.from_iterable(carried or ()))
    places = list(chain.from_iterable(rounds or ()))
    dropped = list(chain.from_iterable(drops))
    box = boxes(compiled)
    return Queues(
        ptr=box(_offsets(map(len, queues))),
        entry=box(list(chain.from_iterable(queues))),
        policy=POLICIES[policy],
        barriers=int(rounds is not None),
        num_rounds=len(drops),
        round_of=box(places),
        drop_ptr=box(_offsets(map(len, drops))),
        drop_node=box([node for _, node in dropped]),
        drop_file=box([file for file, _ in dropped]),
        clear=box(clear),
        move_ptr=box(_offsets(map(len, carried or ()))),
        move_file=box([file for file, _, _ in moves]),
        move_source=box([source for _, source, _ in moves]),
        move_round=box([number for *_, number in moves]),
        least_loaded=int(options.sources == "least-loaded"),
        carried=int(carried is not None),
    )


def new_state(inst: Instance, num_rounds: int = 1, compiled: bool = True) -> State:
    """Return arrays for the state of a replay of *inst*; the kernel sets their
    values.
    """
    nodes = inst.num_nodes
    files = inst.num_files
    cells = nodes * files
    resources = len(inst.capacity)
    cores = len(inst.core_node)
    flows = inst.num_flows
    ints = partial(_zeros, compiled=compiled)
    longs = partial(ints, kind="int64")
    floats = partial(ints, kind="float64")
    return State(
        has=_zeros(cells, compiled, "int8"),
        pin=ints(cells),
        nxt=ints(cells),
        last_use=floats(cells),
        residents=ints(cells),
        seat=ints(cells),
        follow=ints(len(inst.files)),
        need=ints(files),
        freq=ints(files),
        copies=ints(files),
        flying=ints(files),
        num_residents=ints(nodes),
        used=longs(nodes),
        head=longs(nodes),
        staged=longs(nodes),
        idle=longs(nodes),
        running=longs(cores),
        run_end=floats(cores),
        idle_since=floats(cores),
        saved=ints(files),
        made=floats(files),
        waiting=longs(nodes),
        finished=longs(len(inst.cores)),
        recv=longs(flows),
        source=longs(flows),
        target=longs(flows),
        left=floats(flows),
        rate=floats(flows),
        since=floats(flows),
        due=floats(flows),
        slot=longs(flows),
        round_left=longs(num_rounds),
        counters=longs(NUM_COUNTERS),
        clock=floats(3),
        victims=longs(files),
        keys=floats(files),
        use=longs(3 * flows),
        rates=floats(flows),
        room=floats(resources),
        crossing=longs(resources),
        receivers=longs(flows),
    )


def new_log(
    inst: Instance, transfers: int, evictions: int, compiled: bool = True
) -> Log:
    """Return an empty log with room for the given numbers of transfers and evictions.

    If both numbers are 0, nothing is logged.
    """
    enabled = transfers > 0
    entries = len(inst.ptr) - 1 if enabled else 0
    ints = partial(_zeros, compiled=compiled, kind="int64")
    floats = partial(_zeros, compiled=compiled, kind="float64")
    return Log(
        int(enabled),
        floats(entries),
        floats(entries),
        ints(transfers),
        ints(transfers),
        ints(transfers),
        floats(transfers),
        floats(transfers),
        ints(evictions),
        ints(evictions),
        floats(evictions),
    )


SECONDS_PER_CELL = 3e-6
"""Seconds that a replay takes in plain Python for each pair of a task's input and a
node. The estimate decides whether to compile.
"""
COMPILED_SECONDS_PER_CELL = 2.5e-7
"""Seconds that a replay takes in the compiled kernel for each pair of a task's input
and a node.
"""


def replay_seconds(problem: ReplicationProblem) -> tuple[float, float]:
    """Return the estimated seconds of a replay on a busy machine: in plain Python, and
    in the compiled kernel.
    """
    cells = sum(map(len, problem.inputs)) * len(problem.nodes)
    return SECONDS_PER_CELL * cells, COMPILED_SECONDS_PER_CELL * cells
