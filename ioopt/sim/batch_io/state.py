"""Define the state of a batch I/O run: its jobs, clock, settings and work space.

:mod:`~ioopt.sim.batch_io.initial` makes it.

The rules of the simulation (:mod:`~ioopt.sim.batch_io.engine`,
:mod:`~ioopt.sim.batch_io.storage`) are kernel text (:mod:`ioopt.compiled.memory`): they
run as plain Python, on floats or Fractions, and compiled, on floats. They allocate no
memory.
"""

from dataclasses import dataclass

from ioopt.decisions.batch_io import KernelView, Limits, Request
from ioopt.decisions.ordering import Number

# States of a job. Of jobs with an event at the same instant, the higher state goes
# first (rule 1).
WAITING = 0
COMPUTING = 1
TRANSFERRING = 2
ENDED = 3

NOBODY = -1
"""Index that stands for "no job" or "no unit"."""
WORD = 62
"""Number of units in one word of a set of units; the sign bit stays unused."""


@dataclass(slots=True, eq=False)
class Job:
    """A job of a run. ``number`` is its index, and ``id`` the rank of its id.

    ``place`` is the index of the current phase in the trace, and ``last_place`` is the
    index after the job's last phase. ``began`` is the time at which the job last began
    to compute. ``slot`` is the job's index in ``Agenda.running``. ``asked_nodes`` is
    the number of nodes that the user requested. ``block`` is the first unit of the
    job's partition (-1 on flat machines). The job's box
    (:mod:`~ioopt.sim.batch_io.boxes`) has ``length`` seconds and lasts from
    ``box_start`` to ``box_end``.

    While the status is TRANSFERRING, the job has a request of ``volume`` bytes. At time
    ``anchor`` it had ``base`` bytes left. Its ``rate`` has been constant since then, so
    that it finishes at time ``due``. ``granted`` says whether it ever had a rate above
    0. What policies read of it is in the :class:`~ioopt.decisions.batch_io.Request` of
    the same number.
    """

    number: int
    id: int
    status: int
    place: int
    last_place: int
    slot: int
    block: int
    units: int
    nodes: int
    asked_nodes: int
    granted: bool
    killed: bool
    peak: Number
    volume: Number
    base: Number
    rate: Number
    anchor: Number
    due: Number
    began: Number
    submit: Number
    start: Number
    walltime: Number
    end: Number
    length: Number
    box_start: Number
    box_end: Number


@dataclass(slots=True)
class Clock:
    """The counters and times that change from instant to instant; all are 0 at first.

    Times from ``now`` to ``until`` count as one instant. ``arrived`` and ``ended``
    count jobs; ``waiting`` jobs are in the queue, of which the present pass has put
    ``lined_up`` in order; ``num_running`` jobs run. ``free`` units have no job.
    ``freed`` says whether a job has ended since the last pass. ``changed`` and
    ``queue_changed`` say whether a decision and a pass are due, and ``more`` whether
    another event belongs to this instant.

    The jobs of the ``outstanding`` requests use ``load`` units together; ``num_fresh``
    of them were issued since the last decision. ``crowded`` says whether the last
    decision was made by the policy. ``turned`` (bytes moved by each node), ``since``,
    ``rho``, ``weight`` and ``nodes`` belong to the virtual clock of shared storage
    (:mod:`~ioopt.sim.batch_io.storage`). ``useful`` is work of rule 22 in node-seconds.
    ``steps`` and ``num_spans`` count entries of :class:`Profile` and :class:`Spans`.
    """

    arrived: int
    ended: int
    waiting: int
    lined_up: int
    num_running: int
    free: int
    freed: bool
    changed: bool
    queue_changed: bool
    more: bool
    outstanding: int
    load: int
    num_fresh: int
    crowded: bool
    nodes: int
    steps: int
    num_spans: int
    events: int
    decisions: int
    now: Number
    until: Number
    useful: Number
    turned: Number
    since: Number
    rho: Number
    weight: Number


@dataclass(slots=True)
class Rules:
    """The settings of the machine, the queue and the policy.

    ``total`` is the number of units of the machine. In a ``closed`` run jobs wait in
    the queue; else their starts are given. If ``boxed``, passes over the queue plan
    waiting jobs in boxes. If ``numbered``, boxes name their units. If ``overlaps``,
    boxes may overlap: a job planned for less than its walltime has a longer box once it
    runs. If ``keeps``, boxes stay from pass to pass. If ``shared``, the virtual clock
    simulates the storage. If ``record``, all rates are recorded. Useful work is
    measured from ``window_first`` to ``window_last``.
    """

    total: int
    partition: bool
    closed: bool
    kill: bool
    easy: bool
    wfp: bool
    short_first: bool
    short_behind: bool
    event: bool
    boxed: bool
    numbered: bool
    overlaps: bool
    conservative: bool
    rebuild: bool
    keeps: bool
    ignores_limit: bool
    full_when_fits: bool
    shared: bool
    record: bool
    window_first: Number
    window_last: Number


@dataclass(slots=True)
class Agenda:
    """The running jobs by slot, and the time of the next event of each
    (:mod:`~ioopt.sim.batch_io.agenda`). ``due`` lists the jobs of one instant.
    """

    running: list[int]
    times: list[Number]
    targets: list[Number]
    due: list[int]


@dataclass(slots=True)
class Units:
    """Which units have a job (:mod:`~ioopt.sim.batch_io.waiting`).

    ``busy`` is 1 for each such unit of a machine with partitions, and ``free_from`` the
    time at which it is predicted to be free. On flat machines whose units are numbered,
    a set of units has ``words`` words of ``WORD`` bits: ``in_use`` is the set of the
    units that have a job, ``taken`` a set that is being made, and the words of
    ``chosen`` from ``number * words`` on are the set of a job.
    """

    words: int
    busy: list[int]
    free_from: list[Number]
    in_use: list[int]
    taken: list[int]
    chosen: list[int]


@dataclass(slots=True)
class Profile:
    """The free units over time, and the starts and ends of boxes of which it is made
    (:mod:`~ioopt.sim.batch_io.boxes`).
    """

    marks: list[int]
    mark_times: list[Number]
    step_times: list[Number]
    step_free: list[int]


@dataclass(slots=True)
class Spans:
    """Time spans in which a request moved at a constant rate: the phase of the request,
    from, until, and bytes per second.

    No instant begins while there are more than ``room``.
    """

    room: int
    place: list[int]
    since: list[Number]
    until: list[Number]
    rate: list[Number]


@dataclass(slots=True)
class System:
    """A machine, its queue, its storage and the jobs of a run.

    ``compute`` (seconds) and ``volume`` (bytes) describe each phase of the trace;
    ``asked``, ``grant`` and ``finish`` are the times of its request. ``arrivals`` are
    the times at which the jobs ``arrival_jobs`` arrive, followed by infinity. ``line``
    is the queue, and ``keys`` and ``order`` are its work space. ``view`` is what the
    policy sees, ``rates`` is what it grants, and ``fresh`` lists the requests that were
    issued since the last decision.
    """

    limits: Limits
    rules: Rules
    jobs: list[Job]
    requests: list[Request]
    compute: list[Number]
    volume: list[Number]
    asked: list[Number]
    grant: list[Number]
    finish: list[Number]
    arrival_jobs: list[int]
    arrivals: list[Number]
    agenda: Agenda
    line: list[int]
    keys: list[Number]
    order: list[int]
    units: Units
    profile: Profile
    view: KernelView
    rates: list[Number]
    fresh: list[int]
    spans: Spans
