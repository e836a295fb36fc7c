"""Run tasks while a dispatcher assigns them to nodes one by one (workflow rules 11 and
12).
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from math import inf

from ioopt.compiled.library import Engine
from ioopt.decisions.replication import (
    Computing,
    Dispatcher,
    DispatchView,
    Pair,
    Recorded,
)
from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.problems.replication import (
    RULES,
    EvictionPolicy,
    LinkModel,
    ReplayOptions,
    ReplicationPlan,
    ReplicationProblem,
    Task,
)
from ioopt.protocols import Simulation
from ioopt.sim.clock import Events
from ioopt.sim.replication import kernel
from ioopt.sim.replication.build import (
    Noise,
    Queues,
    build_world,
    maker_for,
    require_actual,
)
from ioopt.sim.replication.report import Listed, Replay, report
from ioopt.sim.replication.world import Core


def dispatch(
    problem: ReplicationProblem,
    dispatcher: Dispatcher,
    link: LinkModel | None = None,
    engine: Engine = "auto",
    *,
    prefetch: bool = False,
    eviction: EvictionPolicy | None = None,
    options: ReplayOptions = RULES,
    actual: Mapping[str, float] | None = None,
    deadline: Deadline | None = None,
    noise: Noise | None = None,
    draw: int = 0,
) -> tuple[ReplicationPlan, Simulation]:
    """Run *problem* under *dispatcher*; return the resulting plan and its simulation.

    The plan has the queues and the record of the dispatcher's answers. *eviction* is
    the eviction policy (None: that of the problem). *actual* gives
    compute seconds that differ from the planned ones, keyed by task id; the dispatcher
    sees only the planned ones. *options* go beyond the rules. Transfers have the
    latency of *noise* and the weights of its draw number *draw* (0: all 1). Raises
    UnsolvableInstanceError for a task that fits no node, SimulationError for a pair
    (task, node) that is not allowed and for ready tasks that the dispatcher never
    assigns, UsageError for invalid *actual* times, and OutOfTime if *deadline* passes
    first.
    """
    plan, ran = run_dispatcher(
        problem,
        dispatcher,
        (link, eviction or problem.default_eviction, prefetch, options, actual),
        engine,
        deadline,
        noise,
        draw,
    )
    return plan, report(problem, link, ran, actual)


Options = tuple[
    LinkModel | None,
    EvictionPolicy,
    bool,
    ReplayOptions,
    Mapping[str, float] | None,
]
"""Link model, eviction policy, prefetch, options beyond the rules, and actual compute
seconds of a run.
"""


def run_dispatcher(
    problem: ReplicationProblem,
    dispatcher: Dispatcher,
    options: Options,
    engine: Engine = "auto",
    deadline: Deadline | None = None,
    noise: Noise | None = None,
    draw: int = 0,
) -> tuple[ReplicationPlan, Replay]:
    """Run *problem* under *dispatcher*; return the resulting plan and the records of
    the run. Arguments and errors are those of :func:`dispatch`.
    """
    problem.require_room()
    require_actual(problem, options[-1])
    room = max(64, 8 * sum(map(len, problem.inputs)))
    while True:
        run = _Run(problem, options, room, engine, noise, draw)
        makespan, code = run.to_the_end(dispatcher, deadline)
        if code != kernel.LOG_FULL:
            break
        # The log was too short: repeat the run by its own record.
        dispatcher = Recorded(run.record)
        room = 4 * room
    names = [task.id for task in problem.tasks]
    ran = Replay(run.world, Listed(names, run.owner, [], run.order), makespan)
    return run.plan(options[1]), ran


def queues_of_run(
    problem: ReplicationProblem, dispatcher: Dispatcher, prefetch: bool
) -> list[list[int]]:
    """Run *problem* under *dispatcher*; return, for each node, the indices of its tasks
    in the order of the queue.
    """
    run = _Run(problem, (None, problem.default_eviction, prefetch, RULES, None), 1)
    run.to_the_end(dispatcher, None)
    return run.order


def replay_record(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    link: LinkModel | None = None,
    engine: Engine = "auto",
    deadline: Deadline | None = None,
    actual: Mapping[str, float] | None = None,
) -> Replay:
    """Replay a dispatcher's plan by its record of answers; return the records of the
    replay.

    Raises SimulationError if the record cannot be followed.
    """
    nodes = {
        node.id: [str(entry) for entry in plan.order.get(node.id, ())]
        for node in problem.nodes
    }
    rows = []
    for seconds, number, task, node in plan.dispatches or ():
        if task not in problem.task_index or node not in problem.node_index:
            raise SimulationError(
                f"dispatches: there is no task {task!r} or no node {node!r}"
            )
        rows.append(
            (seconds, number, problem.task_index[task], problem.node_index[node])
        )
    recorded = Recorded(rows)
    options = (link, plan.eviction, plan.prefetch, plan, actual)
    made, ran = run_dispatcher(problem, recorded, options, engine, deadline)
    if {name: list(queue) for name, queue in made.order.items()} != nodes:
        raise SimulationError(
            "order: the queues differ from those that the dispatches make"
        )
    return ran


class _Run(DispatchView):
    """Run a problem on the kernel's records, and show the state of the run to the
    dispatcher.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        options: Options,
        room: int,
        engine: Engine = "auto",
        noise: Noise | None = None,
        draw: int = 0,
    ) -> None:
        link, eviction, self.prefetch, self.options, actual = options
        self.problem = problem
        self.products = problem.products
        self.cache = problem.cache
        self.nodes = problem.nodes
        self.network = problem.network
        if link:
            self.network = problem.network.model_copy(update={"remote_link": link})
        make = maker_for(problem, engine)
        # One place for each node; the entry of a task that is assigned goes there.
        # Without tasks there is no entry that could stand there at first.
        queue = [0] if problem.tasks else []
        places = Queues([queue] * len(problem.nodes), eviction, options=self.options)
        self.world = build_world(problem, places, make, link, (), actual, room, noise)
        self.world.fluid.draw = draw
        self.step = make.function(kernel.begin_or_advance)
        self.record: list[tuple[float, int, int, int]] = []
        self.order: list[list[int]] = [[] for _ in problem.nodes]
        self.owner = [-1] * len(problem.tasks)
        self.ready: list[int] = []
        self._readers: dict[int, set[int]] = {}
        self._waits = TopologicalSorter(dict(enumerate(problem.predecessors)))
        self._waits.prepare()
        self._release = [task.release_seconds for task in problem.tasks]
        self._to_arrive = Events()
        self._ended = 0
        self._instant = -1.0
        self._times: dict[int, list[float]] = {}
        self.now = 0.0
        self.round = 0

    def to_the_end(
        self, dispatcher: Dispatcher, deadline: Deadline | None
    ) -> tuple[float, int]:
        """Run to the end, and ask *dispatcher* whenever a task may be assigned.

        Return the makespan in seconds, and FINISHED, or LOG_FULL if the log was too
        short.
        """
        makespan, code = self._go(kernel.BEGIN, 0)
        while code == kernel.ASKING:
            if deadline is not None and deadline.expired():
                done = len(self.record)
                all_tasks = len(self.problem.tasks)
                text = (
                    f"the deadline passed with {done} of {all_tasks} tasks dispatched"
                )
                raise OutOfTime(text + deadline.would_do(done / max(1, all_tasks)))
            pair = dispatcher(self) if self.ready else None
            if pair is None:
                makespan, code = self._go(kernel.NOBODY, 0)
                continue
            task, node = self._legal(pair)
            self._assign(task, node)
            makespan, code = self._go(task, node)
        if code == kernel.STUCK:
            names = ", ".join(repr(self.problem.tasks[k].id) for k in self.ready)
            raise SimulationError(
                "nothing is running or moving, and the dispatcher assigns none "
                f"of the ready tasks {names}"
            )
        return float(makespan), code

    def plan(self, eviction: EvictionPolicy) -> ReplicationPlan:
        """Return the plan that the run followed: its queues and the record of
        answers.
        """
        tasks = [task.id for task in self.problem.tasks]
        nodes = [node.id for node in self.nodes]
        rows = [(seconds, n, tasks[k], nodes[i]) for seconds, n, k, i in self.record]
        return ReplicationPlan(
            assign={tasks[k]: nodes[i] for k, i in enumerate(self.owner)},
            order={
                nodes[i]: tuple(tasks[k] for k in row)
                for i, row in enumerate(self.order)
            },
            eviction=eviction,
            moves="replay",
            dispatches=tuple(rows),
            prefetch=self.prefetch,
            **self.options.options(),
        )

    def _go(self, task: int, node: int) -> tuple[float, int]:
        """Make one step of the run; note the tasks that have ended and those that have
        become ready.
        """
        makespan, code = self.step(self.world, 1 << 60, task, node)
        run = self.world.run
        self.now = run.now
        self.round = run.passed
        self._times.clear()
        ended = run.ended
        self._instant = run.instant
        self._waits.done(*self.world.finished[self._ended : ended])
        self._ended = ended
        for k in self._waits.get_ready():
            self._to_arrive.add(self._release[k], k)
        for k in self._to_arrive.due(self._instant):
            insort(self.ready, k)
            for f in self.problem.inputs[k]:
                self._readers.setdefault(f, set()).add(k)
        return makespan, code

    def _assign(self, k: int, i: int) -> None:
        """Record that task *k* is given to node *i*."""
        self.record.append((self.now, self.round, k, i))
        self.order[i].append(k)
        self.owner[k] = i
        del self.ready[bisect_left(self.ready, k)]
        for f in self.problem.inputs[k]:
            self._readers[f].discard(k)

    def _legal(self, pair: Pair) -> Pair:
        """Return *pair* (task, node) if workflow rule 11 allows it, else raise
        SimulationError.
        """
        k, i = pair
        tasks = self.problem.tasks
        nodes = self.nodes
        if not (0 <= k < len(tasks) and 0 <= i < len(nodes)):
            raise SimulationError(
                f"the dispatcher answers {pair}: there is no such task or node"
            )
        said = (
            f"the dispatcher gives {tasks[k].id!r} to {nodes[i].id!r} at {self.now:g} s"
        )
        if k not in self.ready:
            raise SimulationError(f"{said}, but the task is not ready")
        waits = self.unstarted(i)
        if waits is not None:
            raise SimulationError(f"{said}, where {tasks[waits].id!r} has not started")
        if not self.takes(k, i):
            text = f"{said}, whose disk, memory or cores it does not fit"
            if self.fits(k, i):
                text = (
                    f"{said}, where {self.idle_cores(i)} cores idle and it takes "
                    f"{tasks[k].cores}"
                )
                if tasks[k].memory_bytes:
                    text += (
                        f", and {self.idle_memory(i):.0f} bytes of memory are free and "
                        f"it takes {tasks[k].memory_bytes}"
                    )
            raise SimulationError(text)
        return k, i

    def released(self) -> Sequence[int]:
        """Return the indices of all tasks that have arrived."""
        return [
            k for k, release in enumerate(self._release) if release <= self._instant
        ]

    def task(self, k: int) -> Task:
        """Return task *k*; raise KeyError if it has not arrived."""
        if self._release[k] > self._instant:
            raise KeyError(k)
        return self.problem.tasks[k]

    def inputs(self, k: int) -> Sequence[int]:
        """Return the indices of the files that task *k* reads."""
        return self.problem.inputs[k]

    def outputs(self, k: int) -> Sequence[int]:
        """Return the indices of the files that task *k* writes."""
        return self.problem.outputs[k]

    def size(self, f: int) -> int:
        """Return the size of file *f* in bytes."""
        return self.problem.files[f].bytes

    def holds(self, i: int, f: int) -> bool:
        """Return whether node *i* has a complete copy of file *f*."""
        return self.world.cells[i * self.world.num_files + f].has == 1

    def complete(self, i: int) -> Sequence[int]:
        """Return the indices of the files that are complete on node *i*."""
        world = self.world
        first = i * world.num_files
        end = first + world.nodes[i].num_residents
        here = [world.cells[x].resident for x in range(first, end)]
        return [f for f in here if world.cells[first + f].has == 1]

    def ready_readers(self, f: int) -> Collection[int]:
        """Return the indices of the ready tasks that read file *f*."""
        return self._readers.get(f, ())

    def copies(self, f: int) -> int:
        """Return the number of nodes on which file *f* is complete."""
        return self.world.files[f].copies

    def on_remote(self, f: int) -> bool:
        """Return whether file *f* is on the remote storage."""
        return self.world.files[f].saved == 2

    def incoming(self, i: int) -> int | None:
        """Return the index of a file that node *i* is receiving; None if it receives no
        file.
        """
        if self.problem.is_shared:
            return None
        node = self.world.nodes[i]
        for y in (i, *range(node.first_slot, node.end_slot)):
            if self.world.fluid.flows[y].file >= 0:
                return self.world.fluid.flows[y].file
        return None

    def unstarted(self, i: int) -> int | None:
        """Return the index of the task that is assigned to node *i* but has not
        started; None if there is none.
        """
        if self.world.nodes[i].head != i:
            return None
        return self.world.places[i].entry

    def computing(self, i: int) -> Sequence[Computing]:
        """Return the tasks that compute on node *i*, with their starts and planned
        ends.
        """
        starts = [(k, self.world.entries[k].start) for k in self.running(i)]
        return [Computing(k, start, self._planned_end(k, i)) for k, start in starts]

    def running(self, i: int) -> Sequence[int]:
        """Return the tasks that compute on node *i*, in ascending order."""
        node = self.world.nodes[i]
        cores = self.world.cores
        entries = {cores[c].entry for c in range(node.first_core, node.end_core)}
        return sorted(k for k in entries if k >= 0)

    def _cores(self, i: int) -> Iterator[Core]:
        """Yield the cores of node *i* that can ever be busy together."""
        node = self.world.nodes[i]
        for c in range(node.first_core, node.end_core):
            yield self.world.cores[c]

    def _planned_end(self, k: int, i: int) -> float:
        """Return the planned end, in seconds, of task *k*, which runs on node *i*."""
        task = self.problem.tasks[k]
        entry = self.world.entries[k]
        seconds = task.overhead_seconds + task.compute_seconds / self.nodes[i].speed
        if self.problem.is_shared:
            byte = self.problem.shared_seconds_per_byte
            seconds += byte * (entry.missing + entry.out_bytes)
        return max(self.now, entry.start + seconds)

    def open_nodes(self) -> list[int]:
        """Return the indices of the nodes to which a task may be assigned now."""
        found = []
        for i, node in enumerate(self.world.nodes[: len(self.nodes)]):
            if node.head != i and (self.prefetch or node.idle > 0):
                found.append(i)
        return found

    def idle_cores(self, i: int) -> int:
        """Return the number of idle cores of node *i*."""
        return self.world.nodes[i].idle

    def idle_memory(self, i: int) -> float:
        """Return the free bytes of memory of node *i*; infinity without a limit."""
        if self.nodes[i].memory_bytes is None:
            return inf
        return self.world.nodes[i].free_memory

    def core_times(self, i: int) -> Sequence[float]:
        """Return one time in seconds for each core of node *i*, in ascending order.

        For an idle core it is the time since which the core is idle, for a busy core
        the planned end of its task.
        """
        if i not in self._times:
            times = []
            for core in self._cores(i):
                if core.entry >= 0:
                    times.append(self._planned_end(core.entry, i))
                else:
                    times.append(core.idle_since)
            self._times[i] = sorted(times)
        return self._times[i]

    def fits(self, k: int, i: int) -> bool:
        """Return whether node *i* has enough cores, memory and disk space for task
        *k*.
        """
        return self.problem.fits(k, i)
