"""I/O-aware batch scheduling (Zhou et al.): the instance, one decision's
snapshot, and the plans.

Sizes in bytes, times in seconds, rates in bytes per second. The machine and the jobs
are those of Section III of the paper; what it leaves open is closed by the project's
numbered rules, and rule numbers below mean those (docs/batch-io.md lists them).
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ioopt.problems import base
from ioopt.units import exact

Allocation = Literal["flat", "partition"]
Share = Literal["per-node", "per-application", "even-split"]
Loop = Literal["closed", "open"]
QueueOrder = Literal["wfp", "fcfs", "sjf", "plan"]
Backfill = Literal["easy", "conservative", "none"]
Knapsack = Literal["bitset", "cp-sat"]

MAX_PHASES = 10_000_000
"""Most phases of all jobs, repeats counted: simulators keep each of them."""


class BurstBuffer(base.Record):
    """Fast storage between the nodes and the storage system (rules 38 and 39).

    ``bytes`` are all there are. ``shared``: one buffer, whose ``bytes_per_second`` (of
    writes) and ``drain_bytes_per_second`` (to and from the storage) are totals;
    ``per-node``: each node has its part of the bytes, and the rates are one node's.
    """

    bytes: base.Positive
    bytes_per_second: base.BytesPerSecond
    drain_bytes_per_second: base.BytesPerSecond
    placement: Literal["shared", "per-node"]


class Machine(base.Lean):
    """Compute nodes in allocation units behind one storage system.

    ``allocation`` ``partition`` means aligned power-of-two blocks of units plus the
    full machine, ``flat`` a plain node counter (rule 18). A node sends at most
    ``node_bytes_per_second`` (the paper's b), all together at most
    ``storage_bytes_per_second`` (BW_max). With an ``interference`` of c, K requests at
    once get at most BW_max / (1 + c (K - 1)) (rule 29; not from the paper). Raises
    when ``nodes`` is no multiple of ``unit_nodes``, or has more than ``MAX_NODES``
    units in partitions.
    """

    LATER: ClassVar[frozenset[str]] = frozenset({"burst_buffer", "interference"})

    nodes: base.PositiveCount
    unit_nodes: base.PositiveCount
    allocation: Allocation
    node_bytes_per_second: base.BytesPerSecond
    storage_bytes_per_second: base.BytesPerSecond
    interference: base.Amount = 0.0
    burst_buffer: BurstBuffer | None = None

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
        """Number of allocation units."""
        return self.nodes // self.unit_nodes

    def allocated_units(self, nodes: int) -> int:
        """Units of the smallest legal allocation for a request of
        *nodes* (rules 3 and 18).
        """
        units = -(-nodes // self.unit_nodes)
        if self.allocation == "flat":
            return units
        block: int = 1 << (units - 1).bit_length()
        return block if block <= self.units else self.units

    def allocated_nodes(self, nodes: int) -> int:
        """N_i, the node count of the smallest legal allocation for
        a request of *nodes*.
        """
        return self.allocated_units(nodes) * self.unit_nodes

    def peak(self, nodes: int, own: float | None = None) -> float:
        """r_i = min(p, b N_i, BW_max) for an allocation of *nodes*, p its
        *own* peak (rules 5, 24).
        """
        rate = min(self.node_bytes_per_second * nodes, self.storage_bytes_per_second)
        return rate if own is None else min(own, rate)


class Phase(base.Numerous):
    """Compute, then I/O; ``repeat`` stands for that many equal phases in a row."""

    compute_seconds: base.Seconds
    io_bytes: base.Amount
    repeat: base.PositiveCount = 1


class Job(base.Lean, base.Numerous):
    """A batch job: when it is submitted, what it asks for, and its
    phases (at least one).

    ``io_bytes_per_second`` is its own peak rate, where its nodes could do more (rule
    24). With ``buffer_bytes`` it writes to the burst buffer, of which it holds so much,
    after ``stage_in_bytes`` have come from the storage; ``stage_out_bytes`` go there in
    the end (rule 41). Labels that no rule reads: the ``wait_seconds``, ``user``,
    ``queue`` and ``partition`` of its log.
    """

    LATER: ClassVar[frozenset[str]] = frozenset(
        {"io_bytes_per_second", "buffer_bytes", "stage_in_bytes", "stage_out_bytes"}
        | {"wait_seconds", "user", "queue", "partition"}
    )

    id: base.JobId
    submit_seconds: base.Seconds
    nodes: base.PositiveCount
    walltime_seconds: base.PositiveSeconds
    phases: tuple[Phase, ...] = Field(min_length=1)
    io_bytes_per_second: base.BytesPerSecond | None = None
    buffer_bytes: base.Amount = 0.0
    stage_in_bytes: base.Amount = 0.0
    stage_out_bytes: base.Amount = 0.0
    wait_seconds: base.Seconds | None = None
    user: base.JobId | None = None
    queue: base.JobId | None = None
    partition: base.JobId | None = None

    @property
    def num_phases(self) -> int:
        """Number of phases after expanding ``repeat``."""
        return sum(phase.repeat for phase in self.phases)


class QueueOptions(base.Lean):
    """Batch queue: walltime kill (rule 21), its order and backfilling (rules
    19, 20, 30 to 36, 47).

    ``reservation`` ``nodes`` has jobs of a flat machine take numbered units (rule 32).
    ``plan`` is that of conservative backfilling: boxes kept from pass to pass, or made
    anew (rules 33 and 34). ``estimate`` is how long a waiting job is taken to run (rule
    35), ``pass`` whether the queue is looked at once an instant or after every event
    (rule 36). ``queue`` ``plan`` searches orders: the first ``plan_depth`` jobs stay
    first, sums of waits to the power ``plan_power`` are compared, and
    ``plan_evaluations`` orders are tried at most (rule 47). With a burst buffer,
    ``staging`` says when jobs stage in (rule 45) and ``nodes_until`` how long they keep
    their nodes: to their end or to the release of their buffer (rule 44).
    """

    LATER: ClassVar[frozenset[str]] = frozenset(
        {"reservation", "plan", "estimate", "pass_", "backfill_order"}
        | {"plan_depth", "plan_power", "plan_evaluations", "staging", "nodes_until"}
    )

    kill: bool = False
    queue: QueueOrder = "wfp"
    backfill: Backfill = "easy"
    reservation: Literal["count", "nodes"] = "count"
    plan: Literal["keep", "rebuild"] = "keep"
    estimate: Literal["walltime", "uncongested"] = "walltime"
    pass_: Literal["instant", "event"] = Field(default="instant", alias="pass")
    backfill_order: Literal["queue", "sjf"] = "queue"
    plan_depth: Annotated[int, Field(ge=0, le=1, strict=True)] = 0
    plan_power: Annotated[int, Field(ge=1, le=8, strict=True)] = 1
    plan_evaluations: base.PositiveCount = 189
    staging: Literal["at-start", "ahead"] = "at-start"
    nodes_until: Literal["end", "release"] = "end"

    def stages_early(self, buffer: BurstBuffer | None) -> bool:
        """Whether jobs stage into the *buffer* while they wait (rule 45)."""
        return (
            buffer is not None
            and buffer.placement == "shared"
            and self.staging == "ahead"
        )

    def keeps_nodes(self, buffer: BurstBuffer | None) -> bool:
        """Whether nodes are held until the *buffer* is released (rule 44)."""
        until = (
            "release" if buffer and buffer.placement == "per-node" else self.nodes_until
        )
        return buffer is not None and until == "release"


class BatchIoProblem(base.Problem):
    """A job trace with I/O phases on one machine.

    Raises a validation error that names the job for duplicate or mixed ids and jobs
    larger than the machine.
    """

    format: Literal["ioopt/batch-io"] = "ioopt/batch-io"
    machine: Machine
    options: QueueOptions = QueueOptions()
    jobs: tuple[Job, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        base.require_one_id_type("jobs", (job.id for job in self.jobs))
        base.require_unique("jobs", (job.id for job in self.jobs))
        for k, job in enumerate(self.jobs):
            _require_fits(f"jobs[{k}] ({job.id})", job.nodes, self.machine)
            _require_buffered(f"jobs[{k}] ({job.id})", job, self.machine)
        if sum(job.num_phases for job in self.jobs) > MAX_PHASES:
            longest = max(self.jobs, key=lambda job: job.num_phases)
            raise ValueError(
                f"job {longest.id!r} has {longest.num_phases} phases; all jobs "
                f"together may have {MAX_PHASES} (repeat counts)"
            )
        return self


class IoRequest(base.Lean):
    """One outstanding request at the moment of the decision.

    ``nodes`` is rounded up to the smallest legal allocation, which leaves an
    allocation as it is. ``moved_bytes`` and ``left_bytes`` add up to the request's
    size. ``start_seconds`` (of the job), ``compute_seconds_so_far`` (up to and with
    this phase) and ``ideal_io_seconds_so_far`` (of the phases before it, uncongested)
    are what rule 14 needs; ``iteration_seconds`` is the w_iter of rule 16, taken as
    the sum of what is known of the job when absent; ``io_bytes_per_second`` the job's
    own peak rate (rule 24).
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
    """One I/O decision: the outstanding requests at ``now_seconds``.

    Raises a validation error that names the request for duplicate or mixed ids,
    requests larger than the machine, and requests or starts that lie in the future.
    """

    format: Literal["ioopt/io-requests"] = "ioopt/io-requests"
    machine: Machine
    now_seconds: base.Seconds
    requests: tuple[IoRequest, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        base.require_one_id_type("requests", (request.id for request in self.requests))
        base.require_unique("requests", (request.id for request in self.requests))
        for k, request in enumerate(self.requests):
            where = f"requests[{k}] ({request.id})"
            _require_fits(where, request.nodes, self.machine)
            for key in ("request_seconds", "start_seconds"):
                value = getattr(request, key)
                if value is not None and value > self.now_seconds:
                    raise ValueError(
                        f"{where}: {key} {value} is after now {self.now_seconds}"
                    )
        return self


def _require_fits(where: str, nodes: int, machine: Machine) -> None:
    if nodes > machine.nodes:
        raise ValueError(f"{where}: nodes {nodes}, but the machine has {machine.nodes}")


def _require_buffered(where: str, job: Job, machine: Machine) -> None:
    """Rule 38: what a job keeps in the burst buffer fits its part, and its
    part fits the buffer.
    """
    own, buffer = job.buffer_bytes, machine.burst_buffer
    for key in ("stage_in_bytes", "stage_out_bytes"):
        if getattr(job, key) > own:
            raise ValueError(
                f"{where}: {key} {getattr(job, key):g} exceeds buffer_bytes {own:g}"
            )
    if not own:
        return
    if buffer is None:
        raise ValueError(
            f"{where}: buffer_bytes {own:g}, but the machine has no burst_buffer"
        )
    most = max(phase.io_bytes for phase in job.phases)
    if most > own:
        raise ValueError(
            f"{where}: a phase's io_bytes {most:g} exceeds buffer_bytes {own:g}"
        )
    room = exact(buffer.bytes)
    if buffer.placement == "per-node":
        room = room * machine.allocated_nodes(job.nodes) / machine.nodes
    if exact(own) > room:
        raise ValueError(
            f"{where}: buffer_bytes {own:g}, but the burst buffer has {float(room):g}"
        )


class BatchIoPlan(base.Plan):
    """What decides: a policy and how it is run. The schedule follows
    from it by simulation.

    ``ef`` multiplies every I/O volume (rule 23); ``loop`` ``open`` fixes the job starts
    to those of an uncongested run; ``top`` hands left-over bandwidth of a conservative
    policy to the skipped requests (rule 11); ``alpha`` is that of FILL (rule 17);
    ``knapsack`` solves the knapsack of Cons-MaxUtil (rule 12; ``cp-sat`` breaks ties in
    its own way). ``settings`` are those that other policies have.
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
        """The plan as plain JSON values."""
        return self.model_dump(mode="json", exclude_none=True)


class IoGrantsPlan(base.Plan):
    """Answer to one decision: request id -> granted bytes per second (0: suspended).

    JSON object keys are text, so a plan that was read from a file has text where the
    requests have whole numbers; ids are matched by their decimal form. ``policy`` and
    ``top`` say who decided (absent for a plan of unknown origin).
    """

    grants: dict[base.JobId, base.Amount]
    policy: base.Name | None = None
    top: bool = False

    def to_dict(self) -> base.Json:
        """The plan as plain values; ids keep their type."""
        return self.model_dump(exclude_none=True)


def beyond(
    problem: BatchIoProblem, plan: BatchIoPlan | None, schedule: base.Json | None
) -> base.Json:
    """What a plan may change of the question: the loop and the factor
    of volumes (rule 23).
    """
    told = plan or BatchIoPlan(policy="fill")
    return {"loop": told.loop, "ef": told.ef}
