"""Task scheduling with file replication (Khanna et al.): the instance and the plan.

Sizes are in bytes, times in seconds, rates in bytes per second. The problem is that of
Section 2 of the paper. Workflows are ours (docs/rules/workflow.md): their tasks write
files, may take several cores and may arrive later.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    model_validator,
)

from ioopt.errors import NotApplicableError, UnsolvableInstanceError
from ioopt.problems import base
from ioopt.units import counted

if TYPE_CHECKING:
    from networkx import DiGraph

JUST_AFTER = 1e-11
RELATIVE_AFTER = 2e-14
"""Completions are one instant if they are at most ``JUST_AFTER`` seconds plus this
share of their time apart, because only rounding separates them.
"""


class ReplayOptions(base.Lean):
    """Options of a replay that go beyond the rules, all off by default.

    ``sources`` says where files come from: from the ``lowest`` node that has them, or
    from the ``least-loaded`` source (workflow rule 22).
    """

    LATER = frozenset({"sources"})
    sources: Literal["lowest", "least-loaded"] = "lowest"

    def options(self) -> base.Json:
        """Return the fields of this class alone, by name."""
        return {name: getattr(self, name) for name in ReplayOptions.model_fields}


RULES = ReplayOptions()
"""Options of a replay that follows only the rules."""


EvictionPolicy = Literal["farthest-next-use", "popularity", "lru"]
LinkModel = Literal["shared", "per-node"]
Products = Literal["node", "shared"]
"""Where products are: on the node that wrote them, or on shared storage."""
CacheModel = Literal["made-and-read", "read"]
"""What enters the cache of a node: the files that its tasks read, and those that they
write too or not.
"""
SHARED_EVICTION: Literal["lru"] = "lru"
"""Policy of caches of shared storage, unless told otherwise: a page cache does not know
what comes next.
"""
_Row = tuple[float, int, str, str]
_Short = tuple[base.Seconds, base.Name, base.Name]
_Long = tuple[base.Seconds, base.Count, base.Name, base.Name]


def _with_round(row: object) -> object:
    """Return *row*, a row of ``dispatches``, with round 0 if it has no round."""
    if isinstance(row, (list, tuple)) and len(row) == 3:
        return (row[0], 0, *row[1:])
    return row


def _written(row: _Row) -> tuple[float, str, str] | _Row:
    """Return *row*, a row of ``dispatches``, as files have it: without a round of 0.

    A round is above 0 only after work without duration.
    """
    seconds, number, task, node = row
    if number:
        return row
    return seconds, task, node


DispatchRow = Annotated[
    _Long,
    BeforeValidator(_with_round, json_schema_input_type=_Short | _Long),
    PlainSerializer(_written, return_type=_Short | _Long, when_used="json"),
]
"""A row (seconds, round, task, node): the time at which the task was given to the node
(workflow rule 12).
"""


MOST_NOISE = 10.0
"""Largest standard deviation of the logarithm of a factor or a weight."""
MOST_DRAWS = 10_000
DRAWS = 40
"""Number of noisy replays if the user says none."""
SHARING_NOISE = 0.2
"""Sharing noise by which plans are judged if the network states none."""


class Network(base.Lean):
    """Rates of the remote link and of the network interface of a node.

    ``remote_link`` (rule 11) is ``shared`` if all remote transfers share one link, as
    in the testbed of the paper. It is ``per-node`` if every node has a private link of
    the same rate, as in equation 11 as printed. ``latency_seconds`` and
    ``sharing_noise`` matter only for noisy replays (timeline rules 9 to 11).
    """

    LATER = frozenset({"latency_seconds", "sharing_noise"})
    remote_bytes_per_second: base.BytesPerSecond
    replica_bytes_per_second: base.BytesPerSecond
    remote_link: LinkModel = "shared"
    latency_seconds: base.Seconds = 0.0
    sharing_noise: Annotated[float, Field(ge=0, le=MOST_NOISE)] = 0.0


class NoisyRuns(base.Record):
    """The noise of noisy replays, and their number (timeline rule 11)."""

    latency_seconds: base.Seconds
    sharing_noise: Annotated[float, Field(ge=0, le=MOST_NOISE)]
    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS)]


class Storage(base.Record):
    """A storage node and the rate of its disk."""

    id: base.Name
    bytes_per_second: base.BytesPerSecond


class Node(base.Lean):
    """A compute node with its disk, speed, held files, cores and parallel staging.

    A disk of None is unlimited. ``holds`` has the files on the disk at time 0.
    ``staging`` is the largest number of files that the node receives at once.
    ``disk_bytes_per_second`` limits incoming and outgoing transfers together (None:
    unlimited). ``memory_bytes`` is the memory that computing tasks share (None:
    unlimited).
    """

    LATER = frozenset({"cores", "staging", "disk_bytes_per_second", "memory_bytes"})
    id: base.Name
    disk_bytes: base.Count | None = None
    speed: base.Positive = 1.0
    holds: tuple[base.Name, ...] = ()
    cores: base.Cores = 1
    staging: base.Cores = 1
    disk_bytes_per_second: base.BytesPerSecond | None = None
    memory_bytes: base.Count | None = None


class File(base.Lean):
    """A file, the unit of transfer; ``storage`` names the storage node that serves it.

    A product is a file that some task writes. With ``keep``, it is saved to the remote
    storage.
    """

    LATER = frozenset({"keep"})
    id: base.Name
    bytes: base.Count
    storage: base.Name | None = None
    keep: bool = Field(default=False, strict=True)


class Task(base.Lean):
    """A task with its compute time at speed 1 and the files that it reads, each once.

    In a workflow, a task also has the files that it writes, the number of cores that it
    takes, and the time of its arrival. The number of cores does not change the compute
    time. ``memory_bytes`` is the memory that it holds while it runs.
    ``overhead_seconds`` is the time for which it holds cores and memory before it
    computes; it does not depend on the speed of the node.
    """

    LATER = frozenset(
        {"outputs", "cores", "release_seconds", "memory_bytes", "overhead_seconds"}
    )
    id: base.Name
    compute_seconds: base.Seconds
    inputs: tuple[base.Name, ...] = ()
    outputs: tuple[base.Name, ...] = ()
    cores: base.Cores = 1
    release_seconds: base.Seconds = 0.0
    memory_bytes: base.Count = 0
    overhead_seconds: base.Seconds = 0.0


class ReplicationProblem(base.Problem, base.Lean):
    """One batch of tasks, the files they share, and the nodes on which they may run.

    ``task_disk``: whether the files that a task reads and writes pass the disk of its
    node while it computes.

    ``products``: where products are. If they are ``shared``, every file is on shared
    storage, ``disk_bytes`` is the size of a node's cache, and ``cache`` says what
    enters it (workflow rules 26 to 29).

    Raises a validation error that names the item for repeated ids, references to
    unknown items, repeated inputs or outputs, held files that exceed the disk, files
    that two tasks write or that are held before they are written, and dependency cycles
    of tasks.
    """

    LATER = frozenset({"task_disk", "products", "cache"})
    format: Literal["ioopt/replication"] = "ioopt/replication"
    network: Network
    storages: tuple[Storage, ...] = ()
    nodes: tuple[Node, ...] = Field(min_length=1)
    files: tuple[File, ...] = ()
    tasks: tuple[Task, ...] = ()
    task_disk: Annotated[bool, Field(strict=True)] = False
    products: Products = "node"
    cache: CacheModel | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Refuse the errors listed in the docstring of the class."""
        for what in ("storages", "nodes", "files", "tasks"):
            base.require_unique(what, (item.id for item in getattr(self, what)))
        storages = {storage.id: storage for storage in self.storages}
        files = {file.id: file for file in self.files}
        for k, file in enumerate(self.files):
            if file.storage is not None:
                base.require_known(
                    f"files[{k}] ({file.id}).storage", file.storage, storages, "storage"
                )
        for k, task in enumerate(self.tasks):
            _references(f"tasks[{k}] ({task.id}).inputs", task.inputs, files)
        for k, node in enumerate(self.nodes):
            where = f"nodes[{k}] ({node.id}).holds"
            _references(where, node.holds, files)
            held = sum(files[name].bytes for name in node.holds)
            if node.disk_bytes is not None and held > node.disk_bytes:
                raise ValueError(
                    f"{where}: {held} bytes held, but disk_bytes is {node.disk_bytes}"
                )
        self._require_agreement()
        if any(task.outputs for task in self.tasks):
            self._require_products(files)
        return self

    def _require_agreement(self) -> None:
        """Raise ValueError for keys that contradict ``products``."""
        if self.cache is not None and not self.is_shared:
            raise ValueError(
                f"cache: {self.cache!r} says what enters the caches of shared storage, "
                f'but products is {self.products!r}; set "products": "shared"'
            )
        if self.task_disk and self.is_shared:
            raise ValueError(
                "task_disk: true is for products on nodes, but products is 'shared'; "
                "leave task_disk out"
            )

    @property
    def is_shared(self) -> bool:
        """Return whether all files are on shared storage."""
        return self.products == "shared"

    @property
    def caches_made(self) -> bool:
        """Return whether what a task writes to shared storage enters its node's
        cache.
        """
        return self.is_shared and self.cache != "read"

    @property
    def default_eviction(self) -> EvictionPolicy:
        """Return the eviction policy of a search or a dispatch unless told
        otherwise.
        """
        return SHARED_EVICTION if self.is_shared else "farthest-next-use"

    @property
    def shared_seconds_per_byte(self) -> float:
        """Return the seconds per byte that planners assume for reads from shared
        storage and writes to it (workflow rule 29).
        """
        return max(self.remote_seconds_per_byte, self.replica_seconds_per_byte)

    def _require_products(self, files: dict[str, File]) -> None:
        """Raise ValueError unless the products fulfil workflow rule 1.

        A product has one producer, no node holds it at the start, and tasks form no
        cycle.
        """
        writer: dict[str, str] = {}
        for k, task in enumerate(self.tasks):
            where = f"tasks[{k}] ({task.id}).outputs"
            _references(where, task.outputs, files)
            for name in task.outputs:
                if name in writer:
                    raise ValueError(
                        f"{where}: file {name!r} is written by {writer[name]!r} "
                        f"and {task.id!r}"
                    )
                writer[name] = task.id
        for k, node in enumerate(self.nodes):
            for name in node.holds:
                if name in writer:
                    raise ValueError(
                        f"nodes[{k}] ({node.id}).holds: file {name!r} cannot be there "
                        f"at 0 s: task {writer[name]!r} writes it"
                    )
        cycle = base.find_cycle(dict(enumerate(self.predecessors)))
        if cycle:
            tasks = " -> ".join(repr(self.tasks[k].id) for k in cycle)
            raise ValueError(f"tasks: dependency cycle through files: {tasks}")

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Return the position of each node, by id."""
        return {node.id: i for i, node in enumerate(self.nodes)}

    @cached_property
    def file_index(self) -> dict[str, int]:
        """Return the position of each file, by id."""
        return {file.id: k for k, file in enumerate(self.files)}

    @cached_property
    def task_index(self) -> dict[str, int]:
        """Return the position of each task, by id."""
        return {task.id: k for k, task in enumerate(self.tasks)}

    def index_of(self, what: str) -> dict[str, int]:
        """Return the positions of all nodes, files or tasks, by id.

        *what* is ``node``, ``file`` or ``task``.
        """
        indices = {
            "node": self.node_index,
            "file": self.file_index,
            "task": self.task_index,
        }
        return indices[what]

    def graph(self) -> "DiGraph":
        """Return the tasks and files as a networkx graph.

        Its nodes are ``("task", id)`` with ``compute_seconds``, and ``("file", id)``
        with ``bytes``. An edge leads from each file to the tasks that read it, and from
        each task to the files that it writes.

        >>> import ioopt
        >>> graph = ioopt.load("cycle3").graph()
        >>> graph.nodes["file", "f0"], graph.out_degree(("file", "f0"))
        ({'bytes': 64000000}, 6)
        """
        from ioopt.graphs import graph_of_tasks

        return graph_of_tasks(self.tasks, self.files)

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the positions of its input files, in the order of its
        list.
        """
        index = self.file_index
        return tuple(tuple(index[name] for name in task.inputs) for task in self.tasks)

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each file, the positions of tasks that read it (Require_l)."""
        lists: list[list[int]] = [[] for _ in self.files]
        for k, files in enumerate(self.inputs):
            for file in files:
                lists[file].append(k)
        return tuple(tuple(tasks) for tasks in lists)

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the positions of its output files, in the order of its
        list.
        """
        index = self.file_index
        return tuple(tuple(index[name] for name in task.outputs) for task in self.tasks)

    @cached_property
    def producer(self) -> tuple[int, ...]:
        """Return, for each file, the position of the task that writes it.

        Return -1 for files from remote storage.
        """
        writers = [-1] * len(self.files)
        for k, files in enumerate(self.outputs):
            for file in files:
                writers[file] = k
        return tuple(writers)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the positions of the tasks that write its inputs,
        ascending.
        """
        found = []
        for files in self.inputs:
            writers = {self.producer[file] for file in files}
            writers.discard(-1)
            found.append(tuple(sorted(writers)))
        return tuple(found)

    @cached_property
    def is_workflow(self) -> bool:
        """Return whether the problem is a workflow rather than a batch.

        In a workflow, some task writes files, arrives later, takes several cores or
        memory, or has an overhead, or some node has several cores; or tasks use the
        disks of their nodes while they compute, or all files are on shared storage.
        """
        if self.task_disk or self.is_shared:
            return True
        return any(node.cores > 1 for node in self.nodes) or any(
            task.outputs
            or task.cores > 1
            or task.release_seconds > 0
            or task.memory_bytes > 0
            or task.overhead_seconds > 0
            for task in self.tasks
        )

    @cached_property
    def holds(self) -> tuple[frozenset[int], ...]:
        """Return, for each node, the positions of the files on its disk at time 0."""
        held = []
        for node in self.nodes:
            held.append(frozenset(self.file_index[name] for name in node.holds))
        return tuple(held)

    @property
    def remote_seconds_per_byte(self) -> float:
        """Return t_rem of equation (11), the seconds per byte of a remote transfer."""
        return 1.0 / self.network.remote_bytes_per_second

    @property
    def replica_seconds_per_byte(self) -> float:
        """Return t_rep of equation (9), the seconds per byte of copies between
        nodes.
        """
        return 1.0 / self.network.replica_bytes_per_second

    @cached_property
    def copy_bytes_per_second(self) -> float:
        """Return the bytes per second that planners assume for a copy between nodes.

        This is the rate of a network interface or, if lower, that of the slowest disk.
        """
        disks = [node.disk_bytes_per_second for node in self.nodes]
        rates = [rate for rate in disks if rate is not None]
        return min([self.network.replica_bytes_per_second, *rates])

    @cached_property
    def _task_bytes(self) -> tuple[int, ...]:
        """Return, for each task, the total bytes of its inputs and outputs."""
        sizes = [file.bytes for file in self.files]
        found = []
        for reads, writes in zip(self.inputs, self.outputs, strict=True):
            found.append(sum([sizes[file] for file in (*reads, *writes)]))
        return tuple(found)

    def task_bytes(self, task: int) -> int:
        """Return the total bytes of the inputs and outputs of the task at position
        *task*.
        """
        return self._task_bytes[task]

    def fits(self, task: int, node: int) -> bool:
        """Return whether a node has the cores, the memory and the disk for a task
        (workflow rules 2 and 24).
        """
        wanted = self.tasks[task]
        given = self.nodes[node]
        if wanted.cores > given.cores:
            return False
        if given.memory_bytes is not None and wanted.memory_bytes > given.memory_bytes:
            return False
        disk = given.disk_bytes
        if disk is None or self.is_shared:
            return True
        return self._task_bytes[task] <= disk

    @cached_property
    def hosts(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the positions of the nodes that it fits."""
        sizes = [
            (node.cores, node.disk_bytes, node.memory_bytes) for node in self.nodes
        ]
        kinds = {size: i for i, size in enumerate(sizes)}
        alike = [kinds[size] for size in sizes]
        found: dict[tuple[bool, ...], tuple[int, ...]] = {}
        rows = []
        for k in range(len(self.tasks)):
            fit = {i: self.fits(k, i) for i in kinds.values()}
            key = tuple(fit.values())
            if key not in found:
                found[key] = tuple(i for i, kind in enumerate(alike) if fit[kind])
            rows.append(found[key])
        return tuple(rows)

    def require_room(self) -> None:
        """Raise UnsolvableInstanceError for a task that no node can run (rule 8).

        A node can run a task if its disk holds the files and it has the cores and the
        memory.
        """
        for k, task in enumerate(self.tasks):
            if not self.hosts[k]:
                raise UnsolvableInstanceError(
                    f"{self.name}: task {task.id!r} {self._unplaced(k)} can ever run it"
                )

    def _unplaced(self, k: int) -> str:
        """Return what task *k* needs that no node has, up to the word "none"."""
        task = self.tasks[k]
        wanted = self._task_bytes[k]
        if not self.is_workflow:
            largest = max(node.disk_bytes or 0 for node in self.nodes)
            return (
                f"reads {wanted} bytes, but the largest disk holds {largest}; no node"
            )
        needs = [
            Need(counted(task.cores, "core"), task.cores, [n.cores for n in self.nodes])
        ]
        if task.memory_bytes:
            memory = [node.memory_bytes for node in self.nodes]
            told = f"{task.memory_bytes} bytes of memory"
            needs.append(Need(told, task.memory_bytes, memory))
        if not self.is_shared:
            disks = [node.disk_bytes for node in self.nodes]
            needs.append(Need(f"{wanted} bytes of disk", wanted, disks))
        lacking = [need for need in needs if need.is_lacking] or needs
        return (
            f"takes {', '.join(map(str, lacking))}{self._own_bytes_hint(k)}; no node "
            "has all of it, so none"
        )

    def _own_bytes_hint(self, k: int) -> str:
        """Return the option that may help if task *k* is of a trace whose tasks are
        assumed to read all files before them; else empty text.
        """
        traced = "Nextflow" in str((self.meta or {}).get("source"))
        if not traced or not self.predecessors[k] or self.is_shared:
            return ""
        process = self.tasks[k].id.partition(" (")[0]
        return (
            " (if it reads only bytes of its own, import the trace with "
            f"--reads-own {process})"
        )

    def require_products_on_nodes(self, what: str) -> None:
        """Raise NotApplicableError if all files are on shared storage.

        *what* names the solver or step that cannot state this.
        """
        if self.is_shared:
            raise NotApplicableError(
                f"{what} does not know products on shared storage; auto, link-aware "
                "and the planners do"
            )

    def require_batch(self, what: str) -> None:
        """Raise NotApplicableError if the problem is a workflow.

        *what* names the solver or step that takes only batches.
        """
        if self.is_workflow:
            raise NotApplicableError(
                f"{what} takes batches, not workflows (outputs, cores, release times, "
                "memory, overheads, shared products); auto and link-aware take both"
            )


class Need(NamedTuple):
    """What a task needs of a node, in words and as a number, and how much of it each
    node has (None: unlimited).
    """

    text: str
    amount: int
    of_nodes: Sequence[int | None]

    @property
    def most(self) -> int | None:
        """The most that a node has."""
        known = [amount for amount in self.of_nodes if amount is not None]
        return max(known) if len(known) == len(self.of_nodes) else None

    @property
    def is_lacking(self) -> bool:
        """Whether no node has as much."""
        return self.most is not None and self.amount > self.most

    def __str__(self) -> str:
        most = "unlimited" if self.most is None else self.most
        return f"{self.text} (most of a node: {most})"


def _references(where: str, names: tuple[str, ...], files: dict[str, File]) -> None:
    """Raise ValueError if *names* has an unknown file, or a file twice."""
    for name in names:
        base.require_known(where, name, files, "file")
    repeated = base.first_repeated(names)
    if repeated is not None:
        raise ValueError(f"{where}: file {names[repeated[1]]!r} is listed twice")


class CopyEntry(base.Record):
    """An entry of a queue that brings a file to the node but runs no task.

    DataLeastLoaded makes such entries.
    """

    copy_file: base.Name = Field(alias="copy")


Room = Literal["largest", "mean", "next", "missing"]
"""Space that a node makes free before a task: enough for the largest, the mean or the
next waiting task, or only the bytes that are missing.
"""
MovesAre = Literal["advice", "plan", "schedule"]
"""What the transfers of an answer are: advice for a replay, transfers that it carries
out (timeline rule 7), or the whole order of an exact replay (timeline rule 12).
"""
MovesGiven = Literal["advice", "schedule"]
"""``MovesAre`` for solvers whose transfers cannot be carried out by rule 7."""


class BatchOptions(ReplayOptions):
    """Options of the replay of a plan for a batch."""

    LATER = frozenset({"sources", "room", "moves", "barriers"})
    room: Room = "missing"
    moves: MovesAre = "advice"
    barriers: bool = False

    def of_plan(self, names: Iterable[str]) -> base.Json:
        """Return the options in *names*, under the names that they have in a plan."""
        chosen = {name: getattr(self, name) for name in names}
        moves = chosen.pop("moves", None)
        if moves in (None, "schedule"):
            return chosen  # a plan is bound to its replay, however that treats moves
        return {**chosen, "carry_out": moves == "plan"}


Fetches = tuple[tuple[base.Name, base.Name], ...]
Copies = tuple[tuple[base.Name, base.Name, base.Name], ...]


class Round(base.Record):
    """One round of a solver that works in rounds: the tasks between two evictions.

    ``evicted`` has each (file, node) that leaves a disk before the first transfer of
    the round. Files that stay need no transfer. ``remote`` and ``copies`` are the
    transfers of the round.
    """

    tasks: tuple[base.Name, ...]
    assign: dict[base.Name, base.Name] = Field(default_factory=dict)
    remote: Fetches = ()
    copies: Copies = ()
    evicted: tuple[tuple[base.Name, base.Name], ...] = ()


MovesModel = Literal["static", "printed", "replay"]
MoveRow = tuple[base.Name | None, base.Name, base.Name | None]
"""A transfer of a bound plan: receiving node, file, source (None: remote storage).

A save has the node None: the file goes from the source to the remote storage.
"""


def _form_of_moves(value: object) -> str:
    """Return which form of ``moves`` a value is meant to have, for messages."""
    return "rows" if isinstance(value, (list, tuple)) else "rules"


Moves = Annotated[
    Annotated[MovesModel, Tag("rules")] | Annotated[tuple[MoveRow, ...], Tag("rows")],
    Discriminator(_form_of_moves),
]
"""The name of rules, or the rows of a bound plan."""
EvictionRow = tuple[base.Name, base.Name, base.Count | base.Name | None]
"""An eviction of a bound plan: node, file, and what needed the room.

That is the number of a row of ``moves`` (from 0), the id of a task, or None.
"""


LEFT_TO_RULES = ("remote", "copies", "rounds", "barriers", "carry_out", "dispatches")
"""Fields of a plan that a bound plan does not have."""


class ReplicationPlan(ReplayOptions):
    """The assignment, the queues of all nodes, and the transfers of a static solver.

    ``assign`` maps each task to its node, and ``order`` each node to its queue.
    ``remote`` has each (file, node) that is fetched from remote storage, and ``copies``
    each (file, source, destination) that is copied between nodes. ``assign``,
    ``remote`` and ``copies`` are X, R and Y of the static model. A replay takes
    ``remote`` and ``copies`` only as advice, unless ``carry_out`` is set. With
    ``carry_out`` it makes exactly these transfers (timeline rule 7).

    ``eviction`` names the policy of the replay. ``room`` says how much space a node
    makes free before it stages its next task (timeline rule 8). ``rounds`` are the
    sub-batches of a solver that works in rounds, in order. With ``barriers``, no task
    of a round starts before the previous round has ended on every node.

    ``moves`` names the rules that ``remote`` and ``copies`` must obey. ``static`` means
    the constraints of the integer program (1)-(8), (21); every copy must then descend
    from a remote transfer or from a held file. ``printed`` means the same without that
    last rule, as the paper prints it. ``replay`` means no rules. It is for planners
    whose files are evicted and brought again; the replayed schedule is checked instead.
    None means ``replay`` for a plan with an order only, and otherwise ``static``. A
    plan in rounds states its transfers in the rounds.

    If ``moves`` is a list of rows instead, the plan is *bound* (timeline rule 12): the
    rows are all transfers and saves, those of each node in order. ``moves_after`` has
    one number for each row: of the entries in the queue of its node (of the saving
    node, for a save) that must have started before. ``evictions`` are those of each
    node in order. A bound plan decides nothing while it runs, so it has no rounds, no
    dispatches, and no ``remote`` or ``copies``.

    ``dispatches`` has (seconds, round, task, node) for each decision of a policy during
    the run, with or without ``prefetch``; ``order`` follows from them. Files leave out
    a round of 0.
    """

    LATER = frozenset(
        {
            "sources",
            "rounds",
            "barriers",
            "moves",
            "moves_after",
            "evictions",
            "carry_out",
            "room",
            "dispatches",
            "prefetch",
        }
    )

    assign: dict[base.Name, base.Name] = Field(default_factory=dict)
    order: dict[base.Name, tuple[base.Name | CopyEntry, ...]]
    remote: Fetches = ()
    copies: Copies = ()
    eviction: EvictionPolicy = "farthest-next-use"
    rounds: tuple[Round, ...] | None = None
    barriers: bool = False
    moves: Moves | None = None
    moves_after: tuple[base.Count, ...] | None = None
    evictions: tuple[EvictionRow, ...] = ()
    carry_out: bool = False
    room: Room = "missing"
    dispatches: tuple[DispatchRow, ...] | None = None
    prefetch: bool = False

    @model_validator(mode="after")
    def _bound_alone(self) -> Self:
        """Refuse rows of a bound plan without its moves, and moves that are bound and
        left to rules at once.
        """
        if not isinstance(self.moves, tuple):
            for name in ("moves_after", "evictions"):
                if getattr(self, name):
                    raise ValueError(f"{name}: only for a plan whose moves are a list")
            return self
        for name in LEFT_TO_RULES:
            if getattr(self, name):
                raise ValueError(
                    f"{name}: a plan whose moves are a list has no {name}; leave it out"
                )
        after = self.moves_after
        if after is not None and len(after) != len(self.moves):
            raise ValueError(
                f"moves_after: {len(after)} numbers for {len(self.moves)} moves"
            )
        return self

    @property
    def bound_moves(self) -> tuple[MoveRow, ...] | None:
        """Return the transfers of a bound plan in order; None for any other plan."""
        return self.moves if isinstance(self.moves, tuple) else None

    @property
    def copied_in_cycle(self) -> str | None:
        """A file whose copies form a cycle, which only ``printed`` moves may; None if
        there is none. No schedule makes such transfers.
        """
        if self.moves_model != "printed":
            return None
        senders: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for file, source, target in self.copies:
            senders.setdefault((file, target), set()).add((file, source))
        try:
            TopologicalSorter(senders).prepare()
        except CycleError as error:
            return str(error.args[1][0][0])
        return None

    @property
    def moves_model(self) -> MovesModel | None:
        """Return the name of the rules of ``remote`` and ``copies``.

        A bound plan has neither, so its schedule is checked, as with ``replay``.
        """
        return "replay" if isinstance(self.moves, tuple) else self.moves

    @property
    def states_moves(self) -> bool:
        """Return whether the plan states its moves itself and does not leave them to
        the replay.
        """
        if self.moves_model in ("static", "printed"):
            return True
        if self.rounds is not None and self.moves_model != "replay":
            return True
        if self.remote or self.copies:
            return True
        return bool(self.assign) and self.moves_model is None

    def by_rules(self) -> Self:
        """Return the queues of a bound plan, whose transfers the rules of a replay
        decide; any other plan unchanged.
        """
        if self.bound_moves is None:
            return self
        left = {"moves": "replay", "moves_after": None, "evictions": ()}
        return self.model_copy(update=left)

    def moves_by_round(self) -> list[tuple[Fetches, Copies]]:
        """Return (``remote``, ``copies``) of each round; one pair for a plan without
        rounds.
        """
        if self.rounds is None:
            return [(self.remote, self.copies)]
        return [(part.remote, part.copies) for part in self.rounds]

    def to_dict(self) -> base.Json:
        """Return the plan as plain JSON values."""
        return self.model_dump(mode="json", by_alias=True)


def beyond(
    problem: ReplicationProblem,
    plan: ReplicationPlan | None,
    schedule: base.Json | None,
) -> base.Json:
    """Return in which respects a schedule may deviate from the instance.

    ``link`` is the model of the remote link. ``actual`` is the number of tasks with
    other compute times than those of the instance.
    """
    told = schedule or {}
    planned = {task.id: task.compute_seconds for task in problem.tasks}
    actual = told.get("actual_compute_seconds") or {}
    return {
        "link": told.get("link") or problem.network.remote_link,
        "actual": sum(seconds != planned.get(task) for task, seconds in actual.items()),
    }
