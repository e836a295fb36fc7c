"""Choose caps for Nextflow with which a simulated run keeps the quota of a work
directory.

A cap is a largest number of tasks that run at once, of the whole run or of one process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from math import exp
from textwrap import wrap

from ioopt.budget import BOOST, BOOST_CLEANUP, TRACE
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.replay import carried_out
from ioopt.units import counted, quantity

MOST_RUNS = 120
"""The largest number of runs to simulate in the search for caps."""
HEAVIEST = 12
"""The number of processes, of those that write most, to cap one by one for the least
peak.
"""
MOST_TIGHT = 60
"""The largest number of runs to simulate in the search for the least peak."""
LEAST_TIGHT = 2
"""The number of these runs to simulate however short the time is."""
AIMS = 24
"""The number of quotas to look for caps for that do not depend on the quota asked."""


def processes(problem: WorkDirectoryProblem) -> list[str]:
    """Return, for each task, its Nextflow process: the name of the task without tag and
    number.

    WfFormat writes a dot in place of the colon in the name of a process.
    """
    names = []
    for task in problem.tasks:
        untagged = task.id.partition(" (")[0]
        names.append(untagged.partition("#")[0].strip())
    if (problem.meta or {}).get("source") == TRACE:
        return names
    return [re.sub(r"_(ID)?\d+$", "", name).replace(".", ":") for name in names]


class Capped(Dispatcher):
    """Run at most *tasks* tasks at once, and at most *forks* tasks of each process.

    The quota is ignored, as Nextflow ignores it.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, tasks: int, forks: Mapping[str, int]
    ) -> None:
        super().__init__(problem)
        self.tasks = tasks
        self.forks = forks
        self.process = processes(problem)
        self.runs = Counter[str]()

    def admits(self, k: int) -> bool:
        """Return whether the caps allow task *k* to start."""
        if self.running >= self.tasks:
            return False
        process = self.process[k]
        return self.runs[process] < self.forks.get(process, self.tasks)

    def started(self, k: int) -> None:
        """Record that task *k* runs, and count it for its process."""
        super().started(k)
        self.runs[self.process[k]] += 1

    def ended(self, k: int) -> list[int]:
        """Record that task *k* has ended; return the tasks that become ready by
        this.
        """
        self.runs[self.process[k]] -= 1
        return super().ended(k)


Keeps = Callable[[int], bool]
"""Function: a cap -> whether the run with it keeps the quota."""
CapRuns = dict[Hashable, Json]
"""The metrics of simulated runs, by their caps."""


def caps_key(tasks: int, forks: Mapping[str, int]) -> Hashable:
    """Return a key for the caps *tasks* and *forks*."""
    return tasks, frozenset(forks.items())


class Search:
    """Simulate runs with caps, each pair of caps once, and keep their metrics.

    ``over`` is true once :data:`MOST_RUNS` runs were simulated, or the deadline passed.
    ``known`` has the runs of earlier searches too, for other quotas: they count as
    simulated, so that what is found does not depend on them.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, deadline: Deadline, known: CapRuns
    ) -> None:
        self.problem = problem
        self.deadline = deadline
        self.known = known
        self.rows: CapRuns = {}
        self.cut = False

    @property
    def over(self) -> bool:
        """Return whether no more runs may be simulated; ``cut`` is set if this is so
        because the deadline passed.
        """
        return len(self.rows) >= MOST_RUNS or self.late

    @property
    def late(self) -> bool:
        """Return whether the deadline passed; ``cut`` is set if so."""
        self.cut = self.cut or self.deadline.expired()
        return self.cut

    def run(self, tasks: int, forks: Mapping[str, int]) -> Json:
        """Return the caps *tasks* and *forks* with the metrics of the run."""
        key = caps_key(tasks, forks)
        if key not in self.known:
            plan = dispatch(self.problem, Capped(self.problem, tasks, forks))
            asked = plan.model_copy(update={"ignore_quota": True})
            metrics = carried_out(self.problem, asked).metrics
            self.known[key] = {"tasks": tasks, "forks": dict(forks), **metrics}
        return self.rows.setdefault(key, self.known[key])

    def keeps(self, forks: Mapping[str, int], tasks: int | None = None) -> bool:
        """Return whether the run with these caps keeps the quota (*tasks* None: only
        *forks* are caps).
        """
        row = self.run(tasks or self.problem.cores, forks)
        return bool(row["peak_bytes"] <= (self.problem.quota_bytes or 0))

    def quickest(self, least: int, most: int) -> Json | None:
        """Return the quickest run whose peak is between *least* and *most* bytes, the
        one with fewer caps of two; None if there is none.
        """
        rows = [r for r in self.rows.values() if least <= r["peak_bytes"] <= most]
        return min(
            rows,
            key=lambda row: (row["makespan_seconds"], len(row["forks"])),
            default=None,
        )

    def largest(self, keeps: Keeps, most: int, known: int = 0) -> int:
        """Return the largest cap up to *most* that *keeps* the quota, or *known*, which
        is known to.

        A cap that breaks the quota is taken to be above all that keep it.
        """
        good = known
        bad = most + 1
        while good + 1 < bad and not self.over:
            tried = (good + bad) // 2
            if bad > most:  # None was too large yet.
                tried = min(max(1, 2 * good), most)
            if keeps(tried):
                good = tried
            else:
                bad = tried
        return good


def choose_caps(
    problem: WorkDirectoryProblem, deadline: Deadline, known: CapRuns | None = None
) -> Json:
    """Return the caps with which the simulated run is quickest and keeps the quota,
    with the metrics of the run; no caps if none are needed.

    If no caps keep the quota, the caps with the least peak are returned.
    ``search_cut`` says whether the deadline ended the search after ``simulated`` runs.
    First caps are looked for whose peak is least (:func:`_tightest`), until one keeps
    the quota, and loosened (:func:`_loosen`). Then one cap is set for all tasks
    together, for each process, and for each process whose tasks depend on no other
    task, as large as the quota allows.

    Whether caps are found is monotone in the quota: caps whose peak is below all that
    the search for the least peak found are not returned, because a smaller quota, which
    its own search may not find caps for, would have to be refused.

    Searches for several quotas share the runs in *known*, which is added to.
    """
    search = Search(problem, deadline, {} if known is None else known)
    quota = problem.quota_bytes or 0
    least = search.run(problem.cores, {})
    tightest = _tightest(search)
    if least["peak_bytes"] > quota:
        for least in tightest:
            if least["peak_bytes"] <= quota:
                _use_quota(search, least["forks"])
                break
    quickest = search.quickest(0, quota)
    if quickest and quickest["peak_bytes"] < least["peak_bytes"]:
        for least in tightest:
            if least["peak_bytes"] <= quickest["peak_bytes"]:
                break
    best = search.quickest(least["peak_bytes"], quota) or least
    told = {"forks": acting(problem, best["forks"]), "search_cut": search.cut}
    return best | told | {"simulated": len(search.rows)}


def acting(problem: WorkDirectoryProblem, forks: Mapping[str, int]) -> Json:
    """Return those of the caps *forks* that are below the number of tasks."""
    widest = Counter(processes(problem))
    return {name: cap for name, cap in forks.items() if cap < widest[name]}


def caps_of_all_quotas(
    problem: WorkDirectoryProblem, most_runs: int, deadline: Deadline
) -> list[Json]:
    """Return caps with their runs, the same whatever the quota of *problem*: all that
    searches for :data:`AIMS` quotas simulate.

    These lie between the least peak found and the peak without caps, in falling order.
    No search begins after *most_runs* runs or past the *deadline*.
    """
    known: CapRuns = {}

    def look_for(quota: int) -> Json:
        asked = problem.model_copy(update={"quota_bytes": quota})
        return choose_caps(asked, deadline, known)

    least = max(1, look_for(0)["peak_bytes"])
    most = known[caps_key(problem.cores, {})]["peak_bytes"]
    for k in range(AIMS, 0, -1):
        if len(known) >= most_runs or deadline.expired():
            break
        look_for(int(least * (most / least) ** (k / AIMS)) - 1)
    return list(known.values())


def _use_quota(search: Search, forks: Mapping[str, int]) -> None:
    """Simulate caps that are as large as the quota allows; the caps *forks* keep it."""
    problem = search.problem
    written = _written(problem)
    widest = Counter(processes(problem))
    most = min(problem.cores, max(widest.values()))
    same = search.largest(
        lambda k: search.keeps(dict.fromkeys(written, k)),
        most,
        int(search.keeps(dict.fromkeys(written, 1))),
    )
    _loosen(search, forks, [process for process in written if process in forks])
    search.largest(lambda k: search.keeps({}, k), problem.cores)
    first = _first(problem)
    search.largest(lambda k: search.keeps(dict.fromkeys(first, k)), most)
    start = 2
    while start <= same and not search.over:
        _loosen(search, dict.fromkeys(written, start), written)
        start *= 2


def _tightest(search: Search) -> Iterator[Json]:
    """Simulate caps whose peak is small, and yield after each run the one with the
    least peak so far.

    No caps are tried, then caps of 1: for each process, for all tasks together, for
    each process whose tasks depend on no other task, and for one of the processes that
    write most. From the best on, the cap of one process after the other is set or taken
    away where that lowers the peak. At most :data:`MOST_TIGHT` runs are simulated. The
    caps do not depend on the quota.
    """
    written = _written(search.problem)
    heavy = written[: -HEAVIEST - 1 : -1]
    cores = search.problem.cores

    def peak_first(row: Json) -> tuple[int, float, int]:
        return row["peak_bytes"], row["makespan_seconds"], len(row["forks"])

    def settings() -> Iterator[tuple[int, dict[str, int]]]:
        yield cores, {}
        yield cores, dict.fromkeys(written, 1)
        yield 1, {}
        yield cores, dict.fromkeys(_first(search.problem), 1)
        for process in heavy:
            yield cores, {process: 1}
        start = None
        while start != best["forks"]:
            start = best["forks"]
            for process in heavy:
                forks = dict(best["forks"])
                if forks.pop(process, None) is None:
                    forks[process] = 1
                yield best["tasks"], forks

    best = search.run(cores, {})
    for simulated, setting in enumerate(islice(settings(), MOST_TIGHT)):
        if simulated >= LEAST_TIGHT and search.late:
            return
        best = min(best, search.run(*setting), key=peak_first)
        yield best


def _first(problem: WorkDirectoryProblem) -> list[str]:
    """Return the processes with a task that depends on no other task."""
    levels = zip(processes(problem), problem.levels, strict=True)
    return sorted({process for process, level in levels if level == 0})


def _written(problem: WorkDirectoryProblem) -> list[str]:
    """Return the processes in rising order of the bytes that their tasks write."""
    sizes = Counter[str]()
    for process, own in zip(processes(problem), problem.own_bytes, strict=True):
        sizes[process] += own
    return sorted(sizes, key=lambda process: (sizes[process], process))


def _loosen(search: Search, forks: Mapping[str, int], written: Sequence[str]) -> None:
    """Loosen the caps *forks*, which keep the quota, until the quota is used.

    Of the processes, *written* in rising order of their bytes, first as many as
    possible of those that write least lose their caps. The others then get the largest
    caps that keep the quota, one after the other.
    """

    def without(count: int) -> dict[str, int]:
        return {process: forks[process] for process in written[count:]}

    free = search.largest(lambda count: search.keeps(without(count)), len(written) - 1)
    caps = without(free)
    widest = Counter(processes(search.problem))
    for process in written[free:]:
        if search.over:
            return
        rest = {other: cap for other, cap in caps.items() if other != process}
        if search.keeps(rest):
            caps = rest
            continue
        most = min(search.problem.cores, widest[process])

        def keeps(
            cap: int, process: str = process, rest: dict[str, int] = rest
        ) -> bool:
            return search.keeps({**rest, process: cap})

        caps = {**rest, process: search.largest(keeps, most, caps[process])}


def nextflow_config(found: Json) -> str:
    """Return the text of a nextflow.config with the caps in the answer *found*, and
    with what else the run needs.
    """
    caps = found["nextflow"]
    name = " ".join(found["instance"].split())
    assumed = ""
    if found["independent"]:
        assumed = ", if tasks were independent"
    elif not found["fits"]["whatever_is_read"]:
        assumed = ", if tasks read what ioopt budget says it assumes"
    cores = found["cores"]
    peak = found["fits"]["needs_bytes"]
    boost = _cleanup(found["plugins"])
    if all_fit(found):
        peak = found["undeleted_bytes"]
        boost = [
            "// Nothing to set: all files of the run fit, even if none is deleted."
        ]
    most = f"{quantity('seconds', found['fits']['takes_seconds'])}, at most "
    most += f"{quantity('bytes', peak)} in work/"
    limits = [f"    $local {{ cpus = {cores} }}"]
    if caps["tasks"] < cores:
        limits.insert(0, f"    queueSize = {caps['tasks']}")
    forks = [
        f"    withName: '{process}' {{ maxForks = {cap} }}"
        for process, cap in sorted(caps["forks"].items())
    ]
    if forks:
        forks = ["process {", *forks, "}"]
    few = []
    if found["fewer_cores"]:
        few = [
            "// For tasks that ask for more cores; needs Nextflow 24.04 or later.",
            f"process.resourceLimits = [cpus: {cores}]",
        ]
    lines = [
        f"// {name}, simulated with {counted(cores, 'core')}:",
        f"// {most}{assumed}.",
        *_noisy(found["noise"], found["quota_bytes"]),
        *_assumed_cores(found["assumed_cores"]),
        "// The executor local takes its cores from here. Others do not, and queueSize",
        "// counts tasks, not cores: more tasks than simulated may run at once. There,",
        f"// run Nextflow in one job of {cores} cores with the executor local, or",
        f"// limit the account (Slurm: GrpTRES=cpu={cores}).",
        *boost,
        *few,
        "executor {",
        *limits,
        "}",
        *forks,
    ]
    return "\n".join((*lines, ""))


def _noisy(noise: Json | None, quota: int) -> list[str]:
    """Return the lines of a comment on the runs with *noise*, if there were any."""
    if noise is None:
        return []
    kept, runs = noise["kept"], counted(noise["runs"], "run")
    most = quantity("bytes", noise["peak_bytes"])
    told = f"{kept} of {runs} kept the quota of {quantity('bytes', quota)},"
    lines = [
        f"// With other times and sizes, {told}",
        f"// with at most {most} in work/.",
    ]
    if kept < noise["runs"]:
        safe = quantity("bytes", noise["safe_bytes"])
        lines.append(
            f"// Tight: the smallest quota tried that all runs keep is {safe}."
        )
    return lines


def _assumed_cores(rows: Sequence[Json]) -> list[str]:
    """Return the lines of a comment on the cores that tasks are assumed to take."""
    if not rows:
        return []
    named = ", ".join(f"{row['process']} {row['cores']}" for row in rows)
    text = f"cpus was not recorded. Cores assumed, which tasks may exceed: {named}."
    return wrap(
        text,
        80,
        initial_indent="// ",
        subsequent_indent="// ",
        break_long_words=False,
    )


def _cleanup(plugins: Sequence[str]) -> list[str]:
    """Return the lines by which files are deleted once no task needs them, with the ids
    of the *plugins* that the pipeline has itself.
    """
    ids = [*plugins]
    if not any(plugin.partition("@")[0] == BOOST for plugin in plugins):
        ids.insert(0, BOOST)
    return [
        f"// Files leave once no task needs them: {BOOST}. The block replaces the",
        "// pipeline's plugins block: copy its ids here, with their versions.",
        "plugins {",
        *(f"    id '{plugin}'" for plugin in ids),
        "}",
        "// Links to deleted files dangle: publish with mode 'copy' or 'move'; the",
        "// default of publishDir is 'symlink'. -resume makes deleted files again.",
        BOOST_CLEANUP,
    ]


def all_fit(found: Json) -> bool:
    """Return whether all files of the run fit the quota together, by the answer
    *found*, also if they are larger than recorded by the doubt about sizes.
    """
    quota = found["quota_bytes"]
    doubted = found["undeleted_bytes"] * exp(found["doubt"]["sizes"])
    return quota is not None and doubted <= quota
