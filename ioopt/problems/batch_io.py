"""Problems and plans of I/O-aware batch scheduling (Zhou et al.).

Sizes are in bytes, times in seconds, rates in bytes per second. Machine and jobs are
those of Section III of the paper. Where the paper leaves questions open, the project's
numbered rules answer them. Rule numbers below refer to docs/rules/batch-io.md.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from ioopt.problems import base

Allocation = Literal["flat", "partition"]
Share = Literal["per-node", "per-application", "even-if-congested", "even-split"]
Loop = Literal["closed", "open"]
QueueOrder = Literal["wfp", "fcfs", "sjf"]
Backfill = Literal["easy", "conservative", "none"]
Knapsack = Literal["bitset", "cp-sat"]

MAX_PHASES = 10_000_000
"""Largest number of phases of all jobs together, with repeats counted, because
simulators store each phase.
"""

NO_BUFFER = (
    "burst buffers have left ioopt; remove their keys from the machine, its jobs and "
    "its options, and all I/O goes to the storage"
)
NO_SEARCH = (
    "the search over queue orders has left ioopt; remove its keys and take queue=sjf, "
    "or backfill=conservative"
)


class Machine(base.Lean):
    """Compute nodes that are allocated in units and share one storage system.

    With ``allocation`` ``partition``, a job gets an aligned block of units, whose
    number is a power of two, or the full machine. With ``flat``, nodes are only counted
    (rule 18). A node sends at most ``node_bytes_per_second`` (b in the paper). All
    nodes together send at most ``storage_bytes_per_second`` (BW_max). With an
    ``interference`` of c, K simultaneous requests get at most BW_max / (1 + c (K - 1))
    together (rule 29; not from the paper).

    Raises a validation error if ``nodes`` is no multiple of ``unit_nodes``, or if a
    machine with partitions has more than ``MAX_NODES`` units.
    """

    LATER: ClassVar[frozenset[str]] = frozenset({"interference"})
    LEFT: ClassVar[Mapping[str, str]] = {"burst_buffer": NO_BUFFER}

    nodes: base.PositiveCount
    unit_nodes: base.PositiveCount
    allocation: Allocation
    node_bytes_per_second: base.BytesPerSecond
    storage_bytes_per_second: base.BytesPerSecond
    interference: base.Amount = 0.0

    @model_validator(mode="after")
    def _whole_units(self) -> Self:
        if self.nodes % self.unit_nodes:
            raise ValueError(
                f"nodes {self.nodes} is no multiple of unit_nodes {self.unit_nodes}"
            )
        if self.allocation == "partition" and self.units > base.MAX_NODES:
            raise ValueError(
                f"nodes {self.nodes} / unit_nodes {self.unit_nodes}: with partitions "
                f"there are at most {base.MAX_NODES} units"
            )
        return self

    @property
    def units(self) -> int:
        """Return the number of allocation units."""
        return self.nodes // self.unit_nodes

    def allocated_units(self, nodes: int) -> int:
        """Return the number of units that a job of *nodes* nodes gets (rule 18).

        This is the smallest legal allocation.
        """
        units = -(-nodes // self.unit_nodes)
        if self.allocation == "flat":
            return units
        block: int = 1 << (units - 1).bit_length()
        return min(block, self.units)

    def allocated_nodes(self, nodes: int) -> int:
        """Return N_i, the number of nodes in the smallest legal allocation for *nodes*
        nodes.
        """
        return self.allocated_units(nodes) * self.unit_nodes

    def peak(self, nodes: int, own: float | None = None) -> float:
        """Return r_i, the peak rate in bytes per second of a job on *nodes* allocated
        nodes.

        This is min(p, b N_i, BW_max) (rules 5, 24). p is the *own* peak rate of the
        job, if it has one; b is the rate of one node, N_i is *nodes*, and BW_max is the
        rate of the storage.
        """
        rate = min(self.node_bytes_per_second * nodes, self.storage_bytes_per_second)
        if own is None:
            return rate
        return min(own, rate)


class Phase(base.Numerous):
    """A phase of a job: computing, then I/O.

    ``repeat`` is the number of such phases in a row.
    """

    compute_seconds: base.Seconds
    io_bytes: base.Amount
    repeat: base.PositiveCount = 1


class Job(base.Lean, base.Numerous):
    """A batch job: its submission, the resources it requests, and its phases.

    ``io_bytes_per_second`` is its own peak rate, if its nodes could do more (rule 24).
    ``wait_seconds``, ``user``, ``queue`` and ``partition`` are labels from a log. No
    rule reads them.
    """

    LATER: ClassVar[frozenset[str]] = frozenset(
        {"io_bytes_per_second", "wait_seconds", "user", "queue", "partition"}
    )
    LEFT: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("buffer_bytes", "stage_in_bytes", "stage_out_bytes"), NO_BUFFER
    )

    id: base.JobId
    submit_seconds: base.Seconds
    nodes: base.PositiveCount
    walltime_seconds: base.PositiveSeconds
    phases: tuple[Phase, ...] = Field(min_length=1)
    io_bytes_per_second: base.BytesPerSecond | None = None
    wait_seconds: base.Seconds | None = None
    user: base.JobId | None = None
    queue: base.JobId | None = None
    partition: base.JobId | None = None

    @property
    def num_phases(self) -> int:
        """Return the number of phases, with repeats counted."""
        return sum(phase.repeat for phase in self.phases)


class QueueOptions(base.Lean):
    """Options of the batch queue: its order, backfilling, and the kill at the walltime.

    See rules 19 to 21 and 30 to 36. With ``reservation`` ``nodes``, jobs of a flat
    machine get numbered units (rule 32). ``plan`` says whether conservative backfilling
    keeps its reservations from pass to pass or rebuilds them (rules 33 and 34).
    ``estimate`` is the run time with which a waiting job is planned (rule 35). ``pass``
    says whether there is one pass over the queue at each instant, or one after every
    event (rule 36).
    """

    LATER: ClassVar[frozenset[str]] = frozenset(
        {"reservation", "plan", "estimate", "pass_", "backfill_order"}
    )
    LEFT: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("staging", "nodes_until"), NO_BUFFER),
        **dict.fromkeys(("plan_depth", "plan_power", "plan_evaluations"), NO_SEARCH),
    }

    kill: bool = False
    queue: QueueOrder = "wfp"
    backfill: Backfill = "easy"
    reservation: Literal["count", "nodes"] = "count"
    plan: Literal["keep", "rebuild"] = "keep"
    estimate: Literal["walltime", "uncongested"] = "walltime"
    pass_: Literal["instant", "event"] = Field(default="instant", alias="pass")
    backfill_order: Literal["queue", "sjf"] = "queue"

    @field_validator("queue", mode="before")
    @classmethod
    def _no_search(cls, value: object) -> object:
        if value == "plan":
            raise ValueError(f"'plan': {NO_SEARCH}")
        return value


class BatchIoProblem(base.Problem):
    """A trace of jobs with I/O phases on one machine.

    Raises a validation error that names the job if an id is repeated, if some ids are
    numbers and others text, or if a job is larger than the machine.
    """

    format: Literal["ioopt/batch-io"] = "ioopt/batch-io"
    machine: Machine
    options: QueueOptions = QueueOptions()
    jobs: Annotated[Sequence[Job], base.Columnar()]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if isinstance(self.jobs, base.HeldAsColumns) and self.jobs.fit(self.machine):
            return self
        base.require_one_id_type("jobs", (job.id for job in self.jobs))
        base.require_unique("jobs", (job.id for job in self.jobs))
        for k, job in enumerate(self.jobs):
            _require_fits(f"jobs[{k}] ({job.id})", job.nodes, self.machine)
        if sum(job.num_phases for job in self.jobs) > MAX_PHASES:
            longest = max(self.jobs, key=lambda job: job.num_phases)
            raise ValueError(
                f"job {longest.id!r} has {longest.num_phases} phases; all jobs "
                f"together may have {MAX_PHASES} (repeat counts)"
            )
        return self


class IoRequest(base.Lean):
    """One outstanding I/O request at the time of a decision.

    ``nodes`` is rounded up to the smallest legal allocation. ``moved_bytes`` and
    ``left_bytes`` add up to the size of the request. Rule 14 needs three fields:
    ``start_seconds`` is the start of the job, ``compute_seconds_so_far`` its compute
    time up to and with this phase, and ``ideal_io_seconds_so_far`` the I/O time of
    earlier phases without congestion. ``iteration_seconds`` is the w_iter of rule 16;
    without it, the known parts of the job are added up. ``io_bytes_per_second`` is the
    job's own peak rate (rule 24).
    """

    LATER: ClassVar[frozenset[str]] = frozenset({"io_bytes_per_second"})

    id: base.JobId
    nodes: base.PositiveCount
    request_seconds: base.Seconds
    left_bytes: base.Amount
    moved_bytes: base.Amount = 0.0
    start_seconds: base.Seconds | None = None
    compute_seconds_so_far: base.Seconds | None = None
    ideal_io_seconds_so_far: base.Seconds | None = None
    iteration_seconds: base.PositiveSeconds | None = None
    io_bytes_per_second: base.BytesPerSecond | None = None


class IoRequestsProblem(base.Problem):
    """One I/O decision, on the requests that are outstanding at ``now_seconds``.

    Raises a validation error that names the request for four faults: a repeated id, ids
    that are partly numbers and partly text, a request larger than the machine, and a
    request or a job start in the future.
    """

    format: Literal["ioopt/io-requests"] = "ioopt/io-requests"
    machine: Machine
    now_seconds: base.Seconds
    requests: tuple[IoRequest, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        base.require_one_id_type("requests", (request.id for request in self.requests))
        base.require_unique("requests", (request.id for request in self.requests))
        now = self.now_seconds
        for k, request in enumerate(self.requests):
            latest = max(request.request_seconds, request.start_seconds or 0.0)
            if request.nodes <= self.machine.nodes and latest <= now:
                continue
            where = f"requests[{k}] ({request.id})"
            _require_fits(where, request.nodes, self.machine)
            for key in ("request_seconds", "start_seconds"):
                value = getattr(request, key)
                if value is not None and value > now:
                    raise ValueError(f"{where}: {key} {value} is after now {now}")
        return self


def _require_fits(where: str, nodes: int, machine: Machine) -> None:
    if nodes > machine.nodes:
        raise ValueError(f"{where}: nodes {nodes}, but the machine has {machine.nodes}")


class BatchIoPlan(base.Plan):
    """A policy and its settings; a simulation derives the schedule.

    ``ef`` multiplies every I/O volume (rule 23). If ``loop`` is ``open``, jobs start as
    in a run without congestion. With ``top``, bandwidth that a conservative policy
    leaves unused goes to the requests that it skipped (rule 11). ``alpha`` belongs to
    FILL (rule 17). ``knapsack`` is the method by which Cons-MaxUtil solves its knapsack
    (rule 12); ``cp-sat`` breaks ties differently. ``settings`` are the settings of
    other policies.
    """

    policy: base.Name
    top: bool = False
    alpha: base.Amount = 0.5
    ef: base.Amount = 1.0
    share: Share = "per-node"
    loop: Loop = "closed"
    knapsack: Knapsack = "bitset"
    settings: base.Json | None = None

    def to_dict(self) -> base.Json:
        """Return the plan as plain JSON values."""
        return self.model_dump(mode="json", exclude_none=True)


class IoGrantsPlan(base.Plan):
    """The answer to one I/O decision: the granted bytes per second for each request id.

    A request with 0 is suspended. Keys of JSON objects are text. Therefore a plan from
    a file has text ids even where the requests have whole numbers, and such ids are
    matched by their decimal form. ``policy`` and ``top`` describe the policy that
    decided. A plan of unknown origin has no ``policy``.
    """

    grants: dict[base.JobId, base.Amount]
    policy: base.Name | None = None
    top: bool = False

    def to_dict(self) -> base.Json:
        """Return the plan as plain values; ids keep their type."""
        return self.model_dump(exclude_none=True)


def beyond(
    problem: BatchIoProblem, plan: BatchIoPlan | None, schedule: base.Json | None
) -> base.Json:
    """Return the loop and the expansion factor of a plan, which need not be those of
    the instance.
    """
    told = plan or BatchIoPlan(policy="fill")
    return {"loop": told.loop, "ef": told.ef}
