"""What the engine keeps of a run: the jobs, the machine around them, and the present moment.

The rules (:mod:`~ioopt.sim.batch_io.engine`, :mod:`~ioopt.sim.batch_io.storage`,
:mod:`~ioopt.sim.batch_io.queue`) are one text. Plain Python runs it on the objects of this module and
on the heaps and lists of :mod:`~ioopt.sim.batch_io.plain`; numba on records and arrays of the same
names (:mod:`~ioopt.sim.batch_io.compiled`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

from ioopt.decisions.batch_io import IoPolicy, Limits, Number, Request
from ioopt.problems.batch_io import Machine, QueueOptions
from ioopt.sim.batch_io.trace import Run, Span, Trace, beliefs_of

# Of what is due at one instant, the higher has its turn first (rules 1 and 43).
WAITING, COMPUTING, WRITING, TRANSFERRING, ENDED, STAGING = 0, 1, 2, 3, 4, 5
NOBODY = -1

JOB_NUMBERS = (
    "job", "id", "status", "place", "last_place", "granted", "lane", "before", "behind", "units",
    "nodes", "asked_nodes", "block", "killed", "stamp", "slot",
)  # fmt: skip
"""Whole numbers of a job."""
JOB_AMOUNTS = (
    "base", "belief", "rate", "anchor", "peak", "left", "moved", "volume", "due", "requested", "began",
    "compute_so_far", "ideal_so_far", "start", "constant", "submit", "walltime", "end", "iteration",
    "length", "box_start", "box_end",
)  # fmt: skip
"""Times, bytes and rates of a job."""
MOMENT_NUMBERS = (
    "arrived", "ended", "waiting", "free", "outstanding", "load", "num_fresh", "nodes", "changed",
    "queue_changed", "crowded", "stale", "more", "events", "decisions", "num_running", "num_spans",
    "recent", "lined_up", "short_first", "freed", "steps", "num_writing", "writes_changed",
    "num_streams", "num_tails", "num_ahead", "holders",
)  # fmt: skip
MOMENT_AMOUNTS = (
    "now", "until", "useful", "clock", "since", "rho", "weight", "held", "held_ahead",
)  # fmt: skip


class ActiveRequest(Request):
    """A job of the run, and the request that it has outstanding while it is TRANSFERRING.

    ``base`` bytes were left at ``anchor``, and its ``rate`` held since: it is ``due`` then.
    ``place`` is that of the job's phase in the trace, ``last_place`` where its phases end,
    ``began`` when it last began to compute. ``before`` and ``behind`` are its neighbours in its
    ``lane``; ``stamp`` marks the newest entry in the heap of finishes; ``asked_nodes`` are those
    that the user asked for; ``block`` is the first unit (-1: flat). Its box of ``length`` seconds is
    from ``box_start`` to ``box_end`` (:mod:`~ioopt.sim.batch_io.boxes`).
    """

    __slots__ = tuple(
        name
        for name in (*JOB_NUMBERS, *JOB_AMOUNTS)
        if name not in Request.__slots__ and name not in ("slot", "constant")
    )

    def __init__(self, job: int, trace: Trace) -> None:
        self.job = job
        self.id = trace.rank[job]
        self.nodes, self.units = trace.allocated[job], trace.units[job]
        self.asked_nodes, self.peak = trace.nodes[job], trace.peak[job]
        self.submit, self.walltime = trace.submit[job], trace.walltime[job]
        self.iteration, self.length = trace.iteration[job], trace.length[job]
        self.box_start = self.box_end = -math.inf
        self.place, self.last_place = trace.offset[job], trace.offset[job + 1]
        self.status = WAITING
        self.granted = self.killed = self.stamp = self.lane = 0
        self.before = self.behind = self.block = NOBODY
        self.left = self.moved = self.volume = self.base = self.rate = 0
        self.compute_so_far = self.ideal_so_far = 0
        self.requested = self.start = self.anchor = self.began = self.end = self.due = math.nan

    @classmethod
    def stream(cls, job: int, trace: Trace) -> ActiveRequest:
        """The record of the streams of *job* (:mod:`~ioopt.sim.batch_io.buffer`)."""
        record = cls(job, trace)
        assert trace.buffered
        record.job = len(trace) + job
        record.peak = trace.buffered.stream[job]
        record.iteration = trace.buffered.iteration[job]
        return record


class Moment:
    """What changes from instant to instant; all begins at 0.

    ``until`` ends what is one instant with ``now``. ``clock``, ``since``, ``rho``, ``weight`` and
    ``nodes`` are those of shared storage. ``outstanding`` requests of ``load`` units are counted.
    ``short_first``: the jobs in ``line`` are ordered by walltime (rule 30); ``freed``: a job ended
    since the last pass. ``held`` bytes of the burst buffer belong to ``holders``, ``held_ahead`` to
    waiting jobs.
    """

    __slots__ = (*MOMENT_NUMBERS, *MOMENT_AMOUNTS)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Number) -> None: ...

    def __init__(self, zero: Number = 0.0) -> None:
        for name in MOMENT_NUMBERS:
            setattr(self, name, 0)
        for name in MOMENT_AMOUNTS:
            setattr(self, name, zero)


@dataclass(slots=True, eq=False)
class World:
    """What stands around the moment: machine, policy, jobs, and the containers of a plain run.

    ``total`` are the units of the machine, and ``launch(world, moment, job)`` is called for each
    job that the queue starts.
    """

    machine: InitVar[Machine]
    options: InitVar[QueueOptions]
    limits: Limits
    launch: Callable[[World, Moment, Any], None]
    exact: bool = False
    total: int = 0
    jobs: Any = ()
    # Of the options: see terms_of.
    partition: bool = False
    kill: bool = False
    easy: bool = False
    wfp: bool = False
    short_first: bool = False
    short_behind: bool = False
    event: bool = False
    boxed: bool = False
    numbered: bool = False
    overlaps: bool = False
    search: bool = False
    conservative: bool = False
    rebuild: bool = False
    keeps: bool = False
    bytes: bool = False
    capacity: Number = 0
    plan_depth: int = 0
    plan_power: int = 1
    plan_evaluations: int = 0
    # The queue: see ioopt.sim.batch_io.queue_lists.
    groups: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    heads: list[Any] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    line_all: list[int] = field(default_factory=list)
    busy: int = 0
    starts: dict[int, int] = field(default_factory=dict)
    until: list[Number] = field(default_factory=list)
    free_from: Sequence[Number] = ()
    ends: dict[int, Number] = field(default_factory=dict)
    sorted_ends: Sequence[tuple[Number, int]] = ()
    # Boxes: see ioopt.sim.batch_io.box_lists.
    running: list[int] = field(default_factory=list)
    marks: list[tuple[Number, int]] = field(default_factory=list)
    step_times: list[Number] = field(default_factory=list)
    step_free: list[int] = field(default_factory=list)
    step_room: list[Number] = field(default_factory=list)
    saved: dict[int, Any] = field(default_factory=dict)
    trial: list[int] = field(default_factory=list)
    best: list[int] = field(default_factory=list)
    chosen: dict[int, int] = field(default_factory=dict)
    # The run of a trace.
    closed: bool = True
    arrival_jobs: Sequence[int] = ()
    arrivals: Sequence[Number] = ()
    compute: Sequence[Number] = ()
    volume: Any = ()
    belief: Sequence[Number] = ()
    asked: Any = ()
    grant: Any = ()
    finish: Any = ()
    window_first: Number = 0
    window_last: Number = 0
    storage: Number = 0
    node_rate: Number = 0
    interference: Number = 0
    own_peaks: bool = False
    capacity_units: int = 0
    shared: bool = False
    progress: bool = False
    ignores_limit: bool = False
    full_when_fits: bool = False
    num_lanes: int = 0
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    record: bool = False
    span_room: float = math.inf
    spans: list[Span] = field(default_factory=list)
    computing: list[tuple[Number, int, int]] = field(default_factory=list)
    finishing: list[tuple[Number, int, int, int]] = field(default_factory=list)
    kills: list[tuple[Number, int, int]] = field(default_factory=list)
    out: list[int] = field(default_factory=list)
    due: list[int] = field(default_factory=list)
    rates: Any = ()
    fresh: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    buffered: bool = False
    buffer: Any = None

    def __post_init__(self, machine: Machine, options: QueueOptions) -> None:
        self.exact = self.limits.exact
        self.total = machine.units
        for name, value in terms_of(machine, options, self.limits).items():
            setattr(self, name, value)
        self.until = [-math.inf] * (self.total if self.partition else 0)

    def play(
        self,
        trace: Trace,
        policy: IoPolicy,
        run: Run,
        starts: tuple[Sequence[Number], Sequence[int]] | None,
    ) -> None:
        """Set up the run of a whole trace; *starts* as in :func:`~.simulate.simulate_trace`."""
        self.jobs = [ActiveRequest(job, trace) for job in range(len(trace))]
        self.buffered = trace.buffered is not None
        if trace.buffered:
            self.jobs += [ActiveRequest.stream(job, trace) for job in range(len(trace))]
        self.closed = starts is None
        self.arrival_jobs, self.arrivals = arrivals_of(trace, starts)
        if starts is not None:
            for job, block in zip(self.jobs, starts[1]):
                job.block = block
        self.compute, self.volume = trace.compute, trace.volume
        if trace.buffered:
            self.volume = [*trace.volume, *[0] * (trace.num_places - trace.num_phases)]
        self.belief = beliefs_of(policy, trace) or self.volume
        self.asked, self.grant, self.finish = run.request, run.grant, run.finish
        self.window_first, self.window_last = trace.window
        self.storage, self.node_rate = self.limits.storage, self.limits.node_rate
        self.capacity_units = self.limits.capacity_units
        self.interference, self.own_peaks = self.limits.interference, self.limits.own_peaks
        self.shared, self.progress = policy.by_clock(self.limits), policy.reads_progress
        # The aggregate slowdown of a stream is its instant one (rule 42).
        self.progress = self.progress or (self.buffered and policy.needs_start)
        self.ignores_limit, self.full_when_fits = policy.ignores_limit, policy.full_when_fits
        self.num_lanes, lanes = lanes_of(policy, trace)
        if isinstance(lanes, list):
            for job, lane in zip(self.jobs, lanes):
                job.lane = lane
        self.first, self.last = ([NOBODY] * self.num_lanes for _ in range(2))
        self.record = run.rates is not None
        self.fresh, self.moved = ([0] * len(self.jobs) for _ in range(2))


def terms_of(machine: Machine, options: QueueOptions, limits: Limits) -> dict[str, Any]:
    """What the engines ask of the options of the queue, and of the machine that it has.

    ``boxed``: a pass gives boxes to waiting jobs, ``numbered``: units of theirs are told apart, which
    partitions do without boxes too; ``overlaps``: boxes may meet, those of jobs planned for less than
    their walltime once they run, those of ended jobs as their release moves; ``keeps``: boxes last
    from pass to pass.
    """
    partition, search = machine.allocation == "partition", options.queue == "plan"
    conservative = not search and options.backfill == "conservative"
    nodes = options.reservation == "nodes" and not partition
    buffer = machine.burst_buffer
    shared = buffer is not None and buffer.placement == "shared"
    return {
        "partition": partition, "kill": options.kill, "easy": options.backfill == "easy",
        "wfp": options.queue == "wfp", "short_first": options.queue == "sjf",
        "short_behind": options.backfill_order == "sjf", "event": options.pass_ == "event",
        "boxed": search or conservative or nodes,
        "numbered": nodes or (partition and (search or conservative)), "search": search,
        "overlaps": options.estimate == "uncongested" or buffer is not None,
        "conservative": conservative, "rebuild": options.plan == "rebuild",
        "keeps": conservative and options.plan == "keep", "bytes": shared,
        "capacity": limits.number(buffer.bytes) if buffer and shared else limits.number(0),
        "plan_depth": options.plan_depth, "plan_power": options.plan_power,
        "plan_evaluations": options.plan_evaluations,
    }  # fmt: skip


def arrivals_of(
    trace: Trace, starts: tuple[Sequence[Number], Sequence[int]] | None
) -> tuple[Sequence[int], list[Number]]:
    """Jobs in the order in which they come, and when; infinity comes last."""
    if starts is None:
        return range(len(trace)), [*trace.submit, math.inf]
    jobs = sorted(range(len(trace)), key=lambda j: (starts[0][j], j))
    return jobs, [*(starts[0][j] for j in jobs), math.inf]


class Facts:
    """What a policy may ask of a job, or of its streams, before the run: N_i and w_iter (rule 16)."""

    __slots__ = ("job", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace, self.job = trace, 0

    @property
    def nodes(self) -> int:
        """N_i (rule 4)."""
        return self.trace.allocated[self.job % len(self.trace)]

    @property
    def iteration(self) -> Number:
        """w_iter."""
        if self.trace.buffered and self.job >= len(self.trace):
            return self.trace.buffered.iteration[self.job - len(self.trace)]
        return self.trace.iteration[self.job]


def facts_of(trace: Trace) -> Iterator[Facts]:
    """The facts of each job in turn, then those of streams, in one object."""
    facts = Facts(trace)
    for facts.job in range(len(trace) * (2 if trace.buffered else 1)):
        yield facts


def lanes_of(policy: IoPolicy, trace: Trace) -> tuple[int, list[int] | int]:
    """How many lanes there are (0: the policy has none), and the number of each job's lane."""
    if policy.lane is None:
        return 0, 0
    numbers: dict[Any, int] = {}
    # A job of nothing but empty phases asks for nothing.
    lanes = [
        numbers.setdefault(policy.lane(facts), len(numbers)) if facts.iteration else 0
        for facts in facts_of(trace)
    ]
    return len(numbers), lanes


def block_starts(total: int, units: int) -> int:
    """The bits at which a block of *units* may begin in a machine of *total* units."""
    count = total // units
    starts, reached = 1, 1
    while reached < count:  # by doubling: bit by bit takes the square of a large machine
        starts |= starts << reached * units
        reached *= 2
    return starts & (1 << count * units) - 1
