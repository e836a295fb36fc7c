"""Task scheduling with file replication (Khanna et al.): the instance and the plan.

Sizes in bytes, times in seconds, rates in bytes per second. Problem: Section 2 of
the paper. Workflows, whose tasks write files, take several cores and arrive, are
ours (docs/rules/workflow.md).
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from ioopt.errors import NotApplicableError, UnsolvableInstanceError
from ioopt.problems import base

JUST_AFTER = 1e-11
RELATIVE_AFTER = 2e-14
"""Completions closer together than this are one instant, because only rounding
separates them.
"""


class ReplayOptions(base.Lean):
    """Set options of a replay that go beyond the rules, all off by default.

    ``sources``: files come from the ``lowest`` node that has them, or the
    ``least-loaded`` source (workflow rule 22).
    """

    LATER = frozenset({"sources"})
    sources: Literal["lowest", "least-loaded"] = "lowest"

    def options(self) -> base.Json:
        """Return the options alone, by name."""
        return {name: getattr(self, name) for name in ReplayOptions.model_fields}


RULES = ReplayOptions()
"""Options of a replay that follows the rules alone."""


LinkModel = Literal["shared", "per-node"]
_Row = tuple[float, int, str, str]
_Short = tuple[base.Seconds, base.Name, base.Name]
_Long = tuple[base.Seconds, base.Count, base.Name, base.Name]


def _with_round(row: object) -> object:
    """Return *row* with round 0 if it has no round."""
    if isinstance(row, (list, tuple)) and len(row) == 3:
        return (row[0], 0, *row[1:])
    return row


def _written(row: _Row) -> tuple[float, str, str] | _Row:
    """Return *row* as it stands in files: without a round of 0.

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
"""(seconds, round, task, node): which task was given to which node, and when (workflow
rule 12).
"""


class Network(base.Record):
    """Rates of the remote link and of a node's network interface.

    ``remote_link`` (rule 11) says whether all remote transfers share one link
    (the paper's testbed) or every node has a private one of the same rate
    (equation 11 as printed).
    """

    remote_bytes_per_second: base.BytesPerSecond
    replica_bytes_per_second: base.BytesPerSecond
    remote_link: LinkModel = "shared"


class Storage(base.Record):
    """A storage node and the rate of its disk."""

    id: base.Name
    bytes_per_second: base.BytesPerSecond


class Node(base.Lean):
    """Describe a compute node: disk, speed, held files, cores, parallel staging.

    A disk of None is unlimited; ``holds`` are the files at time 0; ``staging`` is the
    number of files received at once. ``disk_bytes_per_second`` bounds incoming and
    outgoing transfers together (None: unlimited).
    """

    LATER = frozenset({"cores", "staging", "disk_bytes_per_second"})
    id: base.Name
    disk_bytes: base.Count | None = None
    speed: base.Positive = 1.0
    holds: tuple[base.Name, ...] = ()
    cores: base.Cores = 1
    staging: base.Cores = 1
    disk_bytes_per_second: base.BytesPerSecond | None = None


class File(base.Lean):
    """A file, the unit of transfer; ``storage`` names the storage node that serves it.

    A product (a file that some task writes) is saved to the remote storage if ``keep``.
    """

    LATER = frozenset({"keep"})
    id: base.Name
    bytes: base.Count
    storage: base.Name | None = None
    keep: bool = Field(default=False, strict=True)


class Task(base.Lean):
    """A task: compute time at speed 1 and the files it reads, each once.

    In a workflow it also has the files it writes, its cores (which do not change the
    compute time) and its arrival.
    """

    LATER = frozenset({"outputs", "cores", "release_seconds"})
    id: base.Name
    compute_seconds: base.Seconds
    inputs: tuple[base.Name, ...] = ()
    outputs: tuple[base.Name, ...] = ()
    cores: base.Cores = 1
    release_seconds: base.Seconds = 0.0


class ReplicationProblem(base.Problem):
    """One batch of tasks, the files they share, and the nodes they may run on.

    Raises a validation error that names the item for duplicate ids, dangling
    references, repeated inputs or outputs, holdings larger than the disk, files written
    by two tasks or held before they are written, and dependency cycles of tasks.
    """

    format: Literal["ioopt/replication"] = "ioopt/replication"
    network: Network
    storages: tuple[Storage, ...] = ()
    nodes: tuple[Node, ...] = Field(min_length=1)
    files: tuple[File, ...] = ()
    tasks: tuple[Task, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Refuse the errors listed in the class's docstring."""
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
        if any(task.outputs for task in self.tasks):
            self._require_products(files)
        return self

    def _require_products(self, files: dict[str, File]) -> None:
        """Check workflow rule 1: products have one producer and no holder, tasks no
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
        """Return id -> position of each ``node``, ``file`` or ``task``."""
        indices = {
            "node": self.node_index,
            "file": self.file_index,
            "task": self.task_index,
        }
        return indices[what]

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """Return, per task, the positions of its files in the order of its list."""
        index = self.file_index
        return tuple(tuple(index[name] for name in task.inputs) for task in self.tasks)

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """Return, per file, the positions of the tasks that read it (Require_l)."""
        lists: list[list[int]] = [[] for _ in self.files]
        for k, files in enumerate(self.inputs):
            for file in files:
                lists[file].append(k)
        return tuple(tuple(tasks) for tasks in lists)

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Return, per task, the positions of the files it writes in the order of its
        list.
        """
        index = self.file_index
        return tuple(tuple(index[name] for name in task.outputs) for task in self.tasks)

    @cached_property
    def producer(self) -> tuple[int, ...]:
        """Return, per file, the position of its producer; -1 for files from remote
        storage.
        """
        writers = [-1] * len(self.files)
        for k, files in enumerate(self.outputs):
            for file in files:
                writers[file] = k
        return tuple(writers)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Return, per task, the tasks that write its inputs, each once, ascending."""
        found = []
        for files in self.inputs:
            writers = {self.producer[file] for file in files}
            writers.discard(-1)
            found.append(tuple(sorted(writers)))
        return tuple(found)

    @cached_property
    def is_workflow(self) -> bool:
        """Return whether this is more than a batch.

        In a workflow tasks write files, arrive later, or use several cores.
        """
        return any(node.cores > 1 for node in self.nodes) or any(
            task.outputs or task.cores > 1 or task.release_seconds > 0
            for task in self.tasks
        )

    @cached_property
    def holds(self) -> tuple[frozenset[int], ...]:
        """Return, per node, the positions of the files on its disk at time 0."""
        held = []
        for node in self.nodes:
            held.append(frozenset(self.file_index[name] for name in node.holds))
        return tuple(held)

    @property
    def remote_seconds_per_byte(self) -> float:
        """Return t_rem of equation (11)."""
        return 1.0 / self.network.remote_bytes_per_second

    @property
    def replica_seconds_per_byte(self) -> float:
        """Return t_rep of equation (9)."""
        return 1.0 / self.network.replica_bytes_per_second

    @cached_property
    def copy_bytes_per_second(self) -> float:
        """Return the rate of a copy for planners: the slower of interface and
        slowest disk.
        """
        disks = [node.disk_bytes_per_second for node in self.nodes]
        rates = [rate for rate in disks if rate is not None]
        return min([self.network.replica_bytes_per_second, *rates])

    @cached_property
    def _task_bytes(self) -> tuple[int, ...]:
        """Return, per task, the total size of its inputs and outputs."""
        sizes = [file.bytes for file in self.files]
        found = []
        for reads, writes in zip(self.inputs, self.outputs, strict=True):
            found.append(sum([sizes[file] for file in (*reads, *writes)]))
        return tuple(found)

    def task_bytes(self, task: int) -> int:
        """Return the total size of the inputs and outputs of the task number *task*."""
        return self._task_bytes[task]

    def fits(self, task: int, node: int) -> bool:
        """Return whether the node has cores and disk for the task (workflow rule 2)."""
        if self.tasks[task].cores > self.nodes[node].cores:
            return False
        disk = self.nodes[node].disk_bytes
        return disk is None or self._task_bytes[task] <= disk

    @cached_property
    def hosts(self) -> tuple[tuple[int, ...], ...]:
        """Return, per task, the nodes that it fits."""
        kinds = {(node.cores, node.disk_bytes): i for i, node in enumerate(self.nodes)}
        alike = [kinds[node.cores, node.disk_bytes] for node in self.nodes]
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
        """Raise UnsolvableInstanceError for a task whose files or cores fit no node
        (rule 8).
        """
        for k, task in enumerate(self.tasks):
            if self.hosts[k]:
                continue
            wanted = self.task_bytes(k)
            text = (
                f"takes {task.cores} cores and reads and writes {wanted} bytes; no "
                "node has both, so none"
            )
            if not self.is_workflow:
                largest = max(node.disk_bytes or 0 for node in self.nodes)
                text = (
                    f"reads {wanted} bytes, but the largest disk holds {largest}; no "
                    "node"
                )
            raise UnsolvableInstanceError(f"task {task.id!r} {text} can ever run it")

    def require_batch(self, what: str) -> None:
        """Raise NotApplicableError if the tasks form a workflow, which *what* cannot
        take.
        """
        if self.is_workflow:
            raise NotApplicableError(
                f"{what} takes batches, not workflows (outputs, cores, release times); "
                "auto and exact-workflow take both"
            )


def _references(where: str, names: tuple[str, ...], files: dict[str, File]) -> None:
    """Refuse names of unknown files and names listed twice."""
    for name in names:
        base.require_known(where, name, files, "file")
    repeated = base.first_repeated(names)
    if repeated is not None:
        raise ValueError(f"{where}: file {names[repeated[1]]!r} is listed twice")


class CopyEntry(base.Record):
    """Bring a file to the node without running a task (DataLeastLoaded)."""

    copy_file: base.Name = Field(alias="copy")


Room = Literal["largest", "mean", "next", "missing"]
"""Space freed before a task: for the largest, mean or next waiting task, or only the
missing bytes.
"""
MovesAre = Literal["advice", "plan"]
"""How a replay treats the transfers of a plan (timeline rule 7)."""


class BatchOptions(ReplayOptions):
    """Configure the replay of a batch's plan: ``room``, ``moves`` and ``barriers``."""

    LATER = frozenset({"sources", "room", "moves", "barriers"})
    room: Room = "missing"
    moves: MovesAre = "advice"
    barriers: bool = False

    def of_plan(self, names: Iterable[str]) -> base.Json:
        """Return the options named in *names*, as a plan has them."""
        chosen = {name: getattr(self, name) for name in names}
        moves = chosen.pop("moves", None)
        return chosen if moves is None else {**chosen, "carry_out": moves == "plan"}


Fetches = tuple[tuple[base.Name, base.Name], ...]
Copies = tuple[tuple[base.Name, base.Name, base.Name], ...]


class Round(base.Record):
    """Describe one sub-batch of a solver in rounds: the tasks between two evictions.

    ``evicted`` (file, node) leave their disks before the round's first transfer; files
    that stay need no transfer. ``remote`` and ``copies`` are the round's own transfers.
    """

    tasks: tuple[base.Name, ...]
    assign: dict[base.Name, base.Name] = Field(default_factory=dict)
    remote: Fetches = ()
    copies: Copies = ()
    evicted: tuple[tuple[base.Name, base.Name], ...] = ()


EvictionPolicy = Literal["farthest-next-use", "popularity", "lru"]
MovesModel = Literal["static", "printed", "replay"]


class ReplicationPlan(ReplayOptions):
    """State the assignment, the queues of all nodes, and the transfers of a static
    solver.

    ``assign`` task -> node; ``order`` node -> its queue; ``remote`` (file, node)
    fetches and ``copies`` (file, source, destination) are the X, R and Y of the
    static model and advice only for the replay; ``eviction`` names the policy the
    replay uses; ``rounds`` are the sub-batches of a solver that works in rounds, in
    order; with ``barriers`` no task of a round starts before the round before it has
    ended on every node.

    ``moves`` says which rules ``remote`` and ``copies`` are held to: ``static`` those
    of the integer program (1)-(8), (21) with copies that descend from a remote transfer
    or a held file; ``printed`` the same without that last rule, as the paper prints it;
    ``replay`` none of them, for planners whose files come, go and come again under
    eviction (the replayed schedule is checked instead). None: ``replay`` for a plan
    with an order only, else ``static``. A plan in rounds states its moves in the
    rounds.

    ``carry_out``: the replay does ``remote`` and ``copies``, and no other transfers
    (timeline rule 7). ``room``: what a node makes free before it stages its next
    task (timeline rule 8).

    ``dispatches`` (seconds, round, task, node) are the decisions of a policy during the
    run, with or without ``prefetch``; ``order`` follows from them. Files leave out a
    round of 0.
    """

    LATER = frozenset(
        {
            "sources",
            "rounds",
            "barriers",
            "moves",
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
    moves: MovesModel | None = None
    carry_out: bool = False
    room: Room = "missing"
    dispatches: tuple[DispatchRow, ...] | None = None
    prefetch: bool = False

    def moves_by_round(self) -> list[tuple[Fetches, Copies]]:
        """Return ``remote`` and ``copies`` of each round, or of a plan without
        rounds.
        """
        if self.rounds is None:
            return [(self.remote, self.copies)]
        return [(part.remote, part.copies) for part in self.rounds]

    def to_dict(self) -> base.Json:
        """Return the plan as files hold it; absent values are left out."""
        return self.model_dump(mode="json", by_alias=True)


def beyond(
    problem: ReplicationProblem,
    plan: ReplicationPlan | None,
    schedule: base.Json | None,
) -> base.Json:
    """Return what a schedule may change of the question: the link and compute times."""
    told = schedule or {}
    planned = {task.id: task.compute_seconds for task in problem.tasks}
    actual = told.get("actual_compute_seconds") or {}
    return {
        "link": told.get("link") or problem.network.remote_link,
        "actual": sum(seconds != planned.get(task) for task, seconds in actual.items()),
    }
