"""Records of the timeline simulator: an instance, a plan, and the state of a replay.

Sizes are in bytes, rates in bytes per second, times in seconds. Files, nodes, entries
and so on are numbered from 0. -1 stands for none, or for the remote storage where a
node is asked for. The cell of node *i* and file *f* has the number ``i * num_files +
f``. The records are made by :mod:`ioopt.sim.replication.build`.
"""

from dataclasses import dataclass

from ioopt.compiled.memory import Int8, Int32
from ioopt.sim.fluid import Fluid


@dataclass(slots=True)
class File:
    """A file. ``product``: 1 if a task writes it; ``keep``: 1 if it must be saved.

    ``need``: the number of its unstarted readers; ``unassigned``: of its readers that a
    dispatch has not assigned; ``freq``: of its unfinished readers; ``copies``: of its
    complete copies; ``flying``: of copies on their way. ``saved``: 0 if it is not on
    the remote storage, 1 if it is on its way there, 2 if it is there. ``made``: the
    time at which a product was written.

    With shared products, copies are those in caches, a product is ``saved`` once its
    task has ended, and ``flying`` is 1 if a cache had the file at time 0, or once some
    task has begun to read it.
    """

    size: int
    made: float
    storage: Int32
    need: Int32
    unassigned: Int32
    freq: Int32
    copies: Int32
    flying: Int32
    product: Int8
    keep: Int8
    saved: Int8


@dataclass(slots=True)
class Node:
    """A node. ``staging``: the number of files that it can receive at once.

    The cores that can ever be busy together are ``first_core`` to ``end_core - 1``. Its
    flows beyond the first are ``first_slot`` to ``end_slot - 1``. Its queue consists of
    the places ``first_place`` to ``end_place - 1``. Moves that are carried out to it
    are ``first_move`` to ``end_move - 1``.

    ``used``: bytes of its disk in use. ``num_residents``: number of its files.
    ``head``: the place of the first unstarted entry of its queue. ``staged``: 0 if the
    inputs of that entry are not pinned yet, else 1 plus the number of its first inputs
    that are known to be present. ``idle``: number of idle cores. ``waiting``: number of
    its products that must be saved and whose save has not begun. ``free_memory``:
    bytes of its memory that no computing entry holds. ``running``: number of entries
    that run. With shared products, ``disk`` is the size of its cache.
    """

    disk: int
    memory: int
    speed: float
    used: int
    free_memory: int
    cores: Int32
    staging: Int32
    first_core: Int32
    end_core: Int32
    first_slot: Int32
    end_slot: Int32
    first_place: Int32
    end_place: Int32
    first_move: Int32
    end_move: Int32
    num_residents: Int32
    head: Int32
    staged: Int32
    idle: Int32
    waiting: Int32
    running: Int32


@dataclass(slots=True)
class Cell:
    """A file on a node, and a number of the list of the node's files.

    ``has``: 0 if the file is not there, 1 if it is complete, 2 if it is on its way or
    being written. ``pin``: number of reasons why it must not leave. ``next_place``: the
    place of the first unstarted reader in the node's queue. ``last_use``: time of the
    last use. ``seat``: where the file stands in the list of the node's files. That list
    is the field ``resident`` of the node's first cells.
    """

    last_use: float
    pin: Int32
    next_place: Int32
    resident: Int32
    seat: Int32
    has: Int8


@dataclass(slots=True)
class Entry:
    """An entry of a queue: a task, or behind the tasks a copy entry of the plan.

    Its inputs are the reads ``first_input`` to ``end_input - 1``; it writes the files
    ``outputs[first_output:end_output]``, ``out_bytes`` in all. ``compute``: seconds at
    speed 1. ``overhead``: seconds before it computes, at any speed (workflow rule
    23). ``memory``: bytes that it holds from start to end. ``disk_bytes``: bytes that
    it reads and writes; ``missing``: bytes of its inputs that the cache lacked at its
    start, with shared products. ``release``: time of arrival. ``start`` and ``end``:
    times of the replay, if it is logged. ``turn``: number of entries that started
    before it.
    """

    compute: float
    overhead: float
    release: float
    memory: int
    out_bytes: int
    disk_bytes: int
    missing: int
    start: float
    end: float
    first_input: Int32
    end_input: Int32
    first_output: Int32
    end_output: Int32
    cores: Int32
    turn: Int32


@dataclass(slots=True)
class Read:
    """An input of an entry. ``follow``: the place of the next reader of the file behind
    that entry in the same queue.
    """

    file: Int32
    follow: Int32


@dataclass(slots=True)
class Held:
    """A file that is on the disk of a node at time 0."""

    node: Int32
    file: Int32


@dataclass(slots=True)
class Core:
    """A core of a node. ``entry``: what runs on it. ``end``: the end of that entry at
    the first of its cores, infinity at the others, or once the entry has computed and
    still uses its disk. ``idle_since``: the time since which the core is idle.

    With shared products (workflow rule 26), ``step`` is what the entry whose first core
    this is does now: -1 for its overhead; a number below that of its inputs for reading
    that input; the number of its inputs for computing; more for writing its outputs.
    ``end`` is the end of an overhead or of computing. ``step_ended``: 1 if the step has
    just ended. The first cores of the entries that run on a node are, in order of their
    starts, the fields ``started`` of the node's first cores.
    """

    end: float
    idle_since: float
    node: Int32
    entry: Int32
    step: Int32
    step_ended: Int32
    started: Int32


@dataclass(slots=True)
class Place:
    """A place of a queue: its entry, its round, and the number of bytes to be free
    before the entry is staged (``clear``).

    In growing queues the entry may be OPEN or CLOSED.
    """

    clear: int
    entry: Int32
    round: Int32


@dataclass(slots=True)
class Round:
    """A round of a plan with barriers: ``left`` of its entries have not ended.

    When it opens, the drops ``first_drop`` to ``end_drop - 1`` are evicted.
    """

    first_drop: Int32
    end_drop: Int32
    left: Int32


@dataclass(slots=True)
class Drop:
    """A file to evict from a node when a round opens."""

    node: Int32
    file: Int32


@dataclass(slots=True)
class Move:
    """A planned transfer to a node: its file, its source and its round."""

    file: Int32
    source: Int32
    round: Int32


@dataclass(slots=True)
class Victim:
    """Scratch of evictions: a file that may leave a node, and its key."""

    key: float
    file: Int32


@dataclass(slots=True)
class Transfer:
    """A transfer in the log. ``begun``: number of entries that started before it."""

    start: float
    end: float
    file: Int32
    source: Int32
    destination: Int32
    begun: Int32


@dataclass(slots=True)
class Eviction:
    """An eviction in the log. ``begun`` and ``moves``: numbers of entries and of
    transfers that started before it.
    """

    at: float
    moves: int
    file: Int32
    node: Int32
    begun: Int32


@dataclass(slots=True)
class Run:
    """Numbers of a replay as a whole.

    ``now``: the time. ``last_end``: the end of the last entry. ``instant``: up to this
    time everything is the same instant. ``passed``: number of earlier rounds of passes
    at this instant. ``begun``: 1 once the replay has begun. ``changed``: 1 if rates
    must be shared anew. ``arrived``: number of tasks that have arrived. ``opened``: of
    rounds that are open; ``ended``: of entries that have ended; ``saving``: of saves
    under way. ``request``: the file whose save was requested in this turn. ``wanted``:
    1 plus the number of the node whose growing queue must grow first, or 0. ``owed``:
    bytes that must still leave or reach the remote storage and have not begun to.
    ``cached_bytes``: bytes of inputs found in caches.

    The others count entries that have started, if the replay is logged (``starts``),
    transfers, evictions, fetches from the remote storage (``fetches``), fetches of
    products (``refetched``), saves, and saves that make room (``spills``), and bytes of
    fetches, copies and saves.
    """

    now: float
    last_end: float
    instant: float
    owed: int
    remote_bytes: int
    replica_bytes: int
    saved_bytes: int
    cached_bytes: int
    transfers: int
    evictions: int
    fetches: int
    refetched: int
    saves: int
    spills: int
    opened: int
    ended: int
    arrived: int
    saving: int
    request: int
    wanted: int
    passed: int
    changed: int
    begun: int
    starts: int


@dataclass(slots=True)
class World:
    """An instance, a plan, and the state and the log of its replay.

    ``shared``: 1 if remote transfers use the shared link, 0 if private links.
    ``plain``: 1 for a batch, 0 for a workflow. ``by_release`` lists the tasks in order
    of arrival, ``finished`` the entries in order of their ends. Each node has a flow
    for a file that it receives and, in workflows, one for a file that it saves; flows
    of nodes that receive several files at once follow.

    ``task_disk``: 1 if entries use the disks of their nodes while they compute. Then
    the flows from ``task_flows`` on carry that, one for each core. ``products_shared``:
    1 if all files are on shared storage. Then the only flows are one for each core,
    which carries what the entry on that core reads and writes, and ``caches_made`` is 1
    if products enter the cache of the node that writes them.

    The resources of ``fluid`` are the interfaces of nodes, the storages, the shared
    link, the private links and, if entries use disks, the disks of nodes; in this
    order. The ``file`` of a flow is IDLE if the flow is idle, DISK_USE if it carries
    what an entry reads and writes on its own disk (workflow rule 25).

    The plan: ``policy`` numbers its eviction policy. ``num_entries`` is the number of
    places in use. ``barriers``: 1 if rounds open one after the other. ``growing``: 1 if
    a queue ends in OPEN, or in CLOSED once no entry will be added; a decision that
    depends on entries not yet added is then left out (``run.wanted``). Options beyond
    the rules: ``least_loaded``: 1 if files come from the least loaded source;
    ``clearing``: 1 if places say how much room to make; ``carried``: 1 if moves are
    carried out.

    ``logging``: 1 if transfers, evictions and times of entries are logged, in the order
    of their starts.
    """

    num_nodes: int
    num_files: int
    num_tasks: int
    num_storages: int
    shared: int
    plain: int
    policy: int
    num_entries: int
    num_rounds: int
    barriers: int
    growing: int
    least_loaded: int
    clearing: int
    carried: int
    logging: int
    task_disk: int
    task_flows: int
    products_shared: int
    caches_made: int
    run: Run
    fluid: Fluid
    files: list[File]
    nodes: list[Node]
    cells: list[Cell]
    entries: list[Entry]
    reads: list[Read]
    outputs: list[int]
    held: list[Held]
    cores: list[Core]
    by_release: list[int]
    finished: list[int]
    places: list[Place]
    rounds: list[Round]
    drops: list[Drop]
    moves: list[Move]
    transfers: list[Transfer]
    evictions: list[Eviction]
    victims: list[Victim]


IDLE = -1
DISK_USE = -2
OPEN = -1
CLOSED = -2
FARTHEST_NEXT_USE = 0
POPULARITY = 1
LRU = 2
