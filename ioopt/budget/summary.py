"""Tell the answer of ``ioopt budget`` in words: a table of questions and answers, the
curve, and the lines to paste into a command.
"""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp

from ioopt.budget import BOOST, NF_BOOST, NOISY_RUNS, SNAKEMAKE, TRACE
from ioopt.formats.report import some
from ioopt.problems.base import Json
from ioopt.tables import render, terminal_width
from ioopt.units import counted, quantity

Row = tuple[str, str]
"""A row of the printed answer: a question in a few words, and its answer."""
DEFAULT_POLICY = "depth-first"
"""The policy of the Snakemake plugin if none is given."""
ASSUMED = "if tasks were independent"
SLOW = 1.5
"""The largest time with caps of Nextflow, as a multiple of the default, that needs no
remark.
"""
MOST_NAMED = 3
"""The number of processes to name in a row."""
MOST_STATED = 8
"""The number of processes to name in a row of which the reads are to be stated."""
FAR_TOO_SMALL = 1000
"""How many times less than the least quota a number without unit is no quota."""


def tables(found: Json, nextflow: str | None) -> str:
    """Return the answer *found* as text: a table of questions and answers, then a table
    of the curve of makespan over quota.

    *nextflow* is the file with the caps for Nextflow, if one was asked for.
    """
    curve = [
        (
            _size(row["quota_bytes"]),
            _time(row["makespan_seconds"]),
            _time(row["bound"] if row["status"] != "infeasible" else None),
            row["status"],
        )
        for row in found["curve"]
    ]
    width = terminal_width()
    answers = render(("", "answer"), list(_rows(found, nextflow)), width=width, wrap=1)
    headers = ("quota", "makespan", "bound", "status")
    return f"{answers}\n{render(headers, curve, width=width)}".rstrip("\n")


def _rows(found: Json, nextflow: str | None) -> Iterator[Row]:
    """Yield each question that was asked, with its answer; first whether the workflow
    fits, and what to do.
    """
    yield "fits", _fits_cell(found, nextflow) + _cut(found)
    yield from _workflow_rows(found)
    if found["at_quota"] and found["at_quota"]["makespan_seconds"] is not None:
        yield "best plan", _plan_cell(found)
    if found["nextflow"]:
        yield "nextflow", _nextflow_cell(found)
    if found["noise"]:
        yield counted(found["noise"]["runs"], "noisy run"), _noise_cell(found)


def _fits_cell(found: Json, nextflow: str | None) -> str:
    """Return whether the workflow fits the quota, what it needs, how long it takes, and
    the line to put in a command, if one is necessary.
    """
    fits = found["fits"]
    needs = f"needs {_size(fits['needs_bytes'])}"
    if fits["answer"] is None:
        uses = f"without a quota {_size(found['unlimited']['peak_bytes'])}"
        uses += f", or {_size(found['undeleted_bytes'])} if no file is deleted"
        return f"no --quota given; {needs} at least; {uses}{_if_cores(found)}"
    quota = _size(found["quota_bytes"])
    takes = f"takes {_time(fits['takes_seconds'])}{_slow(found)}"
    if fits["answer"] == "no":
        return _no_cell(found)
    if fits["answer"] == "unknown":
        return f"not known: no plan found; {needs} at most{_with_least(found)}"
    if _limit(found) < found["quota_bytes"]:
        takes = f"takes {_time(fits['takes_seconds'])} (median of the noisy runs)"
    if found["independent"] and fits["answer"] == "yes":
        takes += f" {ASSUMED}"
    told = f"{_engines(found)}{_answer(found)}; {needs} of {quota}; {takes}"
    if fits["way"] == "plan":
        return told
    return f"{told}; {_to_do(found, nextflow)}{_instead(found)}"


def _instead(found: Json) -> str:
    """Return the words on the setting of the dispatcher that all noisy runs keep where
    not all keep the quota with caps of Nextflow; empty if there is none.
    """
    other = found["instead"]
    if other is None:
        return ""
    options = _snakemake_options(found, other["limit_bytes"], other["setting"])
    takes = _time(other["takes_seconds"])
    return f"; with Snakemake and ioopt: yes (all noisy runs), takes {takes}: {options}"


def _answer(found: Json) -> str:
    """Return the answer for a run that fits, with the conditions on which it hangs."""
    fits = found["fits"]
    if found["independent"] and fits["answer"] == "yes":
        return f"yes, in any order of the tasks{_if_cores(found)}"
    if found["independent"]:
        why = " without --dag"
        if found["not_in_dag"]:
            names = some(found["not_in_dag"], MOST_NAMED)
            why = f", as the DAG does not name {names}"
        return f"not known{why}: yes, {ASSUMED}{_if_cores(found, 'and if')}"
    word = "whether or not" if fits["whatever_is_read"] else "if"
    conditions = _if_reads(found, word)
    conditions += _if_cores(found, "and if" if conditions else "if")
    conditions += _fewer_cores(found)
    if fits["answer"] == "plan only":
        return f"no setting found, only a plan (ioopt solve){conditions}"
    answer = f"{_safely(found)}{conditions}"
    if fits.get("safe_as_assumed"):
        answer += f"; all keep it if read as assumed ({_stating(found)})"
    if found["no_sample"]:
        return f"not known: {answer}{_if_once(found)}"
    if "needs_if_all_is_read" not in fits:
        return answer
    more = _size(fits["needs_if_all_is_read"])
    return (
        f"not known: {answer}; not so if they read all files ({more} then); "
        f"{_to_state(found)}"
    )


def _no_cell(found: Json) -> str:
    """Return the "no", with the least quota."""
    from ioopt.formats.nextflow.trace import ALL_FILES

    reads = _if_reads(found)
    if found["independent"]:
        reads = f", even {ASSUMED}"
    elif not found["assumed_reads"].get(ALL_FILES):
        reads = _if_reads(found, "even if")  # who reads more needs more
    given = f"the quota is {_size(found['quota_bytes'])}{_meant(found)}"
    return f"no{reads}; {_least(found)}, and {given}{_with_least(found)}"


def _to_do(found: Json, nextflow: str | None) -> str:
    """Return what to do for a run that fits, by the way in which it does."""
    way = found["fits"]["way"]
    if no_safe_way(found):
        return f"no safe setting was found{room(found)}"
    if way == "default":
        return _default_does(found, nextflow)
    if way == "nextflow":
        if nextflow is None:
            return "write settings of Nextflow with --nextflow FILE"
        return f"run Nextflow with: -c {nextflow}"
    sample = f"(a sample = {_sample(found)})"
    if found["nextflow"] is not None:
        return f"options below {sample}"
    options = f"{_snakemake_options(found)} {sample}"
    if found["source"] != SNAKEMAKE:
        options += " (Nextflow: see --nextflow FILE)"
    return f"add to the snakemake command: {options}"


def _cut(found: Json) -> str:
    """Return what the time limit ended, with the limit that would do; empty if it ended
    nothing.
    """
    cut = found["cut"]
    if not cut:
        return ""
    names = [
        row["what"] + (f" ({row['runs']} of {row['of']} runs)" if row["runs"] else "")
        for row in cut["searches"]
    ]
    return (
        f"; ended by --time-limit, so more time may give a better answer: "
        f"{', '.join(names)}; --time-limit {cut['seconds_needed']} should do, or none"
    )


def _least(found: Json) -> str:
    """Return how much a quota needs at least, as far as that is known."""
    most = found["fits"]["needs_bytes"]
    least = found["least"]["bound_bytes"]
    if found["independent"] or least >= most:
        return f"needs {_size(most)}"
    return f"needs {_size(least)} to {_size(most)}"


def _with_least(found: Json) -> str:
    """Return how long the run takes with the least quota, if that is known."""
    fits = found["fits"]
    if fits["takes_seconds"] is None:
        return ""
    least = _size(fits["needs_bytes"])
    takes = _time(fits["takes_seconds"])
    return f"; takes {takes} with a quota of {least}{_if_cores(found)}"


def _meant(found: Json) -> str:
    """Return a question in brackets if the quota seems to lack its unit."""
    stated = found["stated_quota"] or ""
    least = found["least"]["bound_bytes"]
    if not stated.isdecimal() or least < FAR_TOO_SMALL * found["quota_bytes"]:
        return ""
    unit = "GB" if least > 10**6 * int(stated) else "MB"
    return f" (did you mean --quota {stated}{unit}?)"


def _engines(found: Json) -> str:
    """Return the words before a "yes": which engine it is for, if caps were computed
    for Nextflow and the order of the tasks is known.
    """
    caps = found["nextflow"]
    if caps is None or found["independent"]:
        return ""
    if found["fits"]["way"] in ("default", "nextflow"):
        return "Nextflow: "
    others = {"setting": "with Snakemake and ioopt", "plan": "Snakemake and ioopt"}
    other = others[found["fits"]["way"]]
    no = f"no caps found ({_least_tried(caps)}{_quota_of_caps(caps)})"
    if caps["peak_bytes"] <= found["quota_bytes"] and found["caps_tried"]:
        most = max(row["kept"] for row in found["caps_tried"])
        no = f"not safely ({most} of {NOISY_RUNS} noisy runs kept the quota; "
        no += f"the smallest quota tried that all keep is {_size(caps['safe_bytes'])})"
    elif caps["search_cut"]:
        no = "not known (the time limit ended the search of caps)"
    return f"Nextflow: {no}; {other}: "


def _quota_of_caps(caps: Json) -> str:
    """Return the words that name the quota that all noisy runs keep with the *caps* of
    the least peak; empty without noisy runs.
    """
    if "safe_bytes" not in caps:
        return ""
    quota = _size(caps["safe_bytes"])
    return f"; a quota of {quota} would do, noise included"


def _least_tried(caps: Json) -> str:
    """Return the least peak of the *caps* that were tried, and how many were."""
    tried = counted(caps["simulated"], "setting")
    return f"least peak of {tried} tried: {_size(caps['peak_bytes'])}"


def _if_reads(found: Json, word: str = "if") -> str:
    """Return the condition for the answer if what some tasks read is assumed; it begins
    with *word*.
    """
    count = sum(row["tasks"] for row in _doubtful_reads(found))
    if not count:
        return ""
    reads = f"{_recorded_tasks(found, count)} read{'s' if count == 1 else ''}"
    if word == "whether or not":
        return f", {word} {reads} all files"
    return f", {word} {reads} as assumed"


def _doubtful_reads(found: Json) -> list[Json]:
    """Return the processes on whose reads the answer may hang: not those that asked for
    next to nothing.
    """
    from ioopt.formats.nextflow.trace import LITTLE

    assumed = found["assumed_reads"].items()
    return [row for how, rows in assumed if how != LITTLE for row in rows]


def _if_cores(found: Json, word: str = "if") -> str:
    """Return the condition for the answer if the cores of some tasks are assumed; it
    begins with *word*.
    """
    count = sum(row["tasks"] for row in found["assumed_cores"])
    if not count:
        return ""
    takes = f"{_recorded_tasks(found, count)} take{'s' if count == 1 else ''}"
    return f", {word} {takes} the cores assumed"


def _recorded_tasks(found: Json, count: int) -> str:
    """Return *count* tasks of the record in words. The workflow may have each of them
    several times.
    """
    multiplied = found["more_samples"] or found["copies"] > 1
    return counted(count, "recorded task" if multiplied else "task")


def _if_once(found: Json) -> str:
    """Return the condition for the answer if nobody said whether some tasks belong to
    samples, and how to say it.
    """
    rows = found["no_sample"]
    names = [_short(row["process"]) for row in rows]
    options = " ".join(f"--once {name}" for name in names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        options += " and more"
    copies = found["more_samples"]["factor"]
    return (
        f", if {_processes(found, rows)} belong to no sample: state it ({options}), or "
        f"copy the whole run (--copies {copies})"
    )


def _fewer_cores(found: Json) -> str:
    """Return the words on tasks that ask for more cores than the machine has; empty if
    there are none.
    """
    if not found["fewer_cores"]:
        return ""
    tasks = _recorded_tasks(found, found["fewer_cores"])
    return f", with {counted(found['cores'], 'core')} for {tasks} that asked for more"


def _cores_cell(found: Json, rows: Sequence[Json]) -> str:
    """Return the cores that the tasks of the processes *rows* are assumed to take, and
    how to state them.
    """
    from ioopt.formats.nextflow.processes import TASK_CPUS

    tasks = _recorded_tasks(found, sum(row["tasks"] for row in rows))
    named = [f"{_short(row['process'])} {row['cores']}" for row in rows]
    more = len(named) - MOST_STATED
    if more > 1:
        named[MOST_STATED:] = [f"{more} more processes (--format json names all)"]
    how = "no %cpu either, so 1"
    if any(row["measured"] for row in rows):
        how = "at least what %cpu shows, or 1 without it"
    return (
        f"assumed: {tasks} have no cpus; {how}: {', '.join(named)}; state them with "
        f"{TASK_CPUS} PROCESS=N, or record the next run with cpus in trace.fields"
    )


def _slow(found: Json) -> str:
    """Return the words that caps of Nextflow cost much time, with the time that the
    dispatcher takes, where they do.
    """
    ratio = found["fits"]["takes_seconds"] / (
        found["unlimited"]["makespan_seconds"] or 1.0
    )
    if found["fits"]["way"] != "nextflow" or ratio <= SLOW:
        return ""
    words = f" ({ratio:.2g} x the default"
    if found["setting"] and not found["instead"]:
        words += f"; Snakemake and ioopt: {_time(found['setting']['makespan_seconds'])}"
    return f"{words})"


def _safely(found: Json) -> str:
    """Return the "yes", with what noisy runs add to it if there were any: whether all,
    most or few of them kept the quota, and the limit with which all do.
    """
    noise = found["noise"]
    quota = _size(found["quota_bytes"])
    if noise is None:
        if _size(found["fits"]["needs_bytes"]) == quota:
            return "yes, but no room left"
        return "yes"
    kept = f"{noise['kept']} of {noise['runs']} noisy runs kept the quota"
    if _limit(found) < found["quota_bytes"]:
        return _safely_with_limit(found)
    if found["fits"]["safety"] == "unsafe":
        return f"not safely ({kept})"
    if found["fits"]["safety"] == "tight":
        return f"yes, but tight ({kept}{room(found)})"
    if noise["runs"] < NOISY_RUNS:
        few = f"only {noise['runs']} noisy runs, all kept it"
        return f"yes, but perhaps tight ({few})"
    return f"yes ({kept}{_quicker(found)})"


def _quicker(found: Json) -> str:
    """Return the words on the quickest caps of Nextflow that were tried and that fewer
    noisy runs kept; empty if there are none, or if the answer has a setting instead.
    """
    if found["fits"]["way"] == "setting":
        return ""
    caps = min(
        found["caps_tried"], key=lambda caps: caps["makespan_seconds"], default=None
    )
    if caps is None or caps["kept"] == found["noise"]["kept"]:
        return ""
    some = "caps" if caps["forks"] or caps["tasks"] < found["cores"] else "no caps"
    words = f"; {caps['kept']} with {some} that take {_time(caps['makespan_seconds'])}"
    if caps["safe_as_assumed"]:
        words += f", all if tasks read as assumed ({_stating(found)})"
    return words


def _safely_with_limit(found: Json) -> str:
    """Return the "yes" with a limit below the quota that more noisy runs keep."""
    noise = found["noise"]
    quota, limit = _size(found["quota_bytes"]), _size(_limit(found))
    fewer = f"{noise['kept']} with a limit of {quota}"
    if noise["plan_kept"] == noise["runs"]:
        all_kept = f"all {noise['runs']} noisy runs kept the quota"
        return f"yes, with a limit of {limit} ({all_kept}; {fewer})"
    some = f"{noise['plan_kept']} of {noise['runs']} noisy runs kept the quota"
    return f"yes, but tight, with a limit of {limit} ({some}; {fewer}{room(found)})"


def _limit(found: Json) -> int:
    """Return the bytes to give to the plugin as its limit: the one tried with which all
    or most noisy runs kept the quota, or the quota where no smaller one was better.
    """
    limit: int = found["fits"].get("limit_bytes") or found["quota_bytes"]
    return limit


def no_safe_way(found: Json) -> bool:
    """Return whether few noisy runs kept the quota, and no smaller limit is known with
    which at least half do.
    """
    return bool(found["fits"].get("safety") == "unsafe")


def room(found: Json) -> str:
    """Return the words that name the smallest quota tried that all noisy runs keep, and
    with what.
    """
    noise = found["noise"]
    if noise["safe_bytes"] is None:
        if noise["safe_tried_bytes"] is None:
            return ""
        return f"; nor with a limit of up to {_size(noise['safe_tried_bytes'])}"
    safe = noise["safe_bytes"]
    least = _size(safe)
    if noise["safe_plan_bytes"] is not None:
        options = _snakemake_options(
            found, noise["safe_plan_bytes"], noise["safe_setting"]
        )
        return f"; the smallest quota tried that all keep is {least}, with {options}"
    caps = ""
    if found["caps_tried"]:
        caps = ", with these caps"
        if safe < noise["peak_bytes"]:
            caps = ", with other caps (caps_tried of --format json)"
    return f"; the smallest quota tried that all keep is {least}{caps}"


def _processes(found: Json, rows: Sequence[Json]) -> str:
    """Return the processes of *rows* with their numbers of recorded tasks: the first
    few, and the number of the others, which the JSON has.
    """
    counts = Counter[str]()
    for row in rows:
        counts[_short(row["process"])] += row["tasks"]
    words = [f"{process} ({count})" for process, count in counts.items()]
    more = len(words) - MOST_NAMED
    if more > 1:
        words[MOST_NAMED:] = [f"{more} more processes (--format json names all)"]
    return f"{_recorded_tasks(found, counts.total())} of {', '.join(words)}"


def _short(process: str) -> str:
    """Return the name of *process* without the workflows that it is in."""
    return process.rpartition(":")[2]


def _to_state(found: Json) -> str:
    """Return the words that name the processes of which to state what they read: those
    that decide, and that the others do not.
    """
    words = "this decides"
    if not all(row["decides"] for row in _doubtful_reads(found)):
        words = "this decides, whatever the others read"
    return f"{words}: {_stating(found, deciding=True)} (or --reads-all)"


def _stating(found: Json, deciding: bool = False) -> str:
    """Return the options that state that processes read as assumed: of all, or of those
    that are *deciding*.
    """
    from ioopt.formats.nextflow.trace import OWN_BYTES

    rows = found["assumed_reads"][OWN_BYTES]
    named = [row for row in rows if row["decides"] or not deciding]
    names = [*dict.fromkeys(_short(row["process"]) for row in named)]
    options = " ".join(f"--reads-own {name}" for name in names[:MOST_STATED])
    if len(names) > MOST_STATED:
        options += f", and {len(names) - MOST_STATED} more that --format json names"
    return options


def _default_does(found: Json, nextflow: str | None) -> str:
    """Return the text on a run that fits by default."""
    from ioopt.budget.nextflow import all_fit

    run = "" if nextflow is None else f"; run Nextflow with: -c {nextflow}"
    if all_fit(found):
        return f"nothing to set, even if no file is deleted{run}"
    if found["source"] == SNAKEMAKE:
        return "nothing to set: temporary files leave after their last reader"
    if nextflow is not None:
        return f"needs no caps, only that files are deleted{run}"
    boost = f"put into nextflow.config: {' and '.join(NF_BOOST)}"
    if found["source"] == TRACE:
        return f"so that each file is deleted after its last reader, {boost}"
    return (
        "set that each file is deleted after its last reader (Snakemake: mark the "
        f"outputs temp(); Nextflow: {boost})"
    )


def lines_to_paste(found: Json, nextflow: str | None) -> list[str]:
    """Return the lines to paste for the way in which the workflow fits."""
    way = found["fits"]["way"]
    if no_safe_way(found):
        return []
    if way == "setting":
        return [_snakemake_options(found)]
    if way in ("default", "nextflow") and nextflow is not None:
        return [f"-c {nextflow}"]
    kept = found["undeleted_bytes"] <= (found["quota_bytes"] or 0)
    if way == "default" and not kept and found["source"] == TRACE:
        return list(NF_BOOST)
    return []


def plugins_note(found: Json, nextflow: str | None) -> str:
    """Return what to do about the pipeline's own plugins where a plugins block is
    printed, or written to the file *nextflow*; empty if none is.
    """
    from ioopt.budget.nextflow import all_fit

    way = found["fits"]["way"]
    if way not in ("default", "nextflow") or no_safe_way(found) or all_fit(found):
        return ""
    if nextflow is None and way == "default" and found["source"] == TRACE:
        return (
            f"Nextflow does not merge plugins blocks: put id '{BOOST}' into the one "
            "that the pipeline has; publish with mode 'copy' or 'move', as links to "
            "deleted files dangle; -resume makes deleted files again"
        )
    if nextflow is None or found["plugins"]:
        return ""
    return (
        f"{nextflow} replaces the pipeline's plugins block: copy its ids there, or "
        "state them: --nextflow-plugins 'nf-schema@VERSION,...'"
    )


def _snakemake_options(
    found: Json, limit: int | None = None, setting: Json | None = None
) -> str:
    """Return the options of Snakemake for the setting that keeps the quota, or for
    another *limit* and *setting*.
    """
    setting = setting or found["setting"]
    options = [
        "--scheduler ioopt",
        f"--scheduler-ioopt-disk-mb {_disk_mb(found, limit or _limit(found))}",
        f"--scheduler-ioopt-in-flight {setting['in_flight']}",
    ]
    if setting["policy"] != DEFAULT_POLICY:
        options.append(f"--scheduler-ioopt-policy {setting['policy']}")
    if found["source"] == SNAKEMAKE and found["record"]:
        options.append(f"--scheduler-ioopt-sizes {shlex.quote(found['record'])}")
    return " ".join(options)


def _disk_mb(found: Json, size: int) -> str:
    """Return *size* for the option disk-mb: a number of megabytes, with decimals and
    the unit where it is not whole; a quota such as 1GiB as it was stated.
    """
    stated = (found["stated_quota"] or "").replace(" ", "")
    if size == found["quota_bytes"] and size % 10**6 and stated[-1:].isalpha():
        return str(stated)
    whole, rest = divmod(size, 10**6)
    if not rest:
        return str(whole)
    if not whole:
        return f"{size}B"
    return f"{whole}.{rest:06d}".rstrip("0") + "MB"


def _workflow_rows(found: Json) -> Iterator[Row]:
    """Yield rows on the size of the workflow, on the least quota, and on the run
    without a quota.
    """
    from ioopt.formats.nextflow.trace import OWN_BYTES

    tasks, cores = (counted(found[f"{what}s"], what) for what in ("task", "core"))
    yield "workflow", f"{found['instance']}: {tasks}, {_copies(found)}, {cores}"
    if found["more_samples"] and found["more_samples"]["once"]:
        yield "once", _once_cell(found["more_samples"])
    for how, rows in found["assumed_reads"].items():
        if rows:
            text = f"assumed: {_processes(found, rows)}: {how}"
            if how == OWN_BYTES:
                text += _if_all_read(found)
            yield "reads", text
    if found["assumed_cores"]:
        yield "cores", _cores_cell(found, found["assumed_cores"])
    bound = found["least"]["bound_bytes"]
    needed = found["least"]["found_bytes"]
    if found["independent"]:
        lacks = "the record has no DAG (--dag FILE), so an index may count as a sample"
        if found["not_in_dag"]:
            names = some(found["not_in_dag"], MOST_NAMED)
            lacks = f"the DAG does not name {names} (give that of this very run)"
        yield "tasks", f"{lacks}: assumed independent below"
        why = ASSUMED
    elif bound == needed:
        why = f"the least{_if_reads(found)}" if found["assumed_reads"] else "proven"
    else:
        why = f"lower bound {_size(bound)}{_if_reads(found)}"
    yield "least quota", f"{_size(needed)} ({why})"
    if found["observed"]:
        yield "recorded", _recorded_cell(found["observed"])
    yield "default", _default_cell(found)


def _if_all_read(found: Json) -> str:
    """Return the words on what the first row needs if tasks read as assumed, where its
    figure is for tasks that read all files and differs.
    """
    fits = found["fits"]
    least = fits.get("needs_as_assumed")
    if least is None or _limit(found) < found["quota_bytes"]:
        return ""
    if _size(least) == _size(fits["needs_bytes"]):
        return ""
    most = _size(fits["needs_bytes"])
    return f"; the run needs {_size(least)} so, and {most} if they read all files"


def _recorded_cell(ran: Json) -> str:
    """Return the text on the recorded run. That of a trace deleted nothing, as far as
    the trace says.
    """
    peak = f", peak at most {_size(ran['peak_bytes'])}"
    if "undeleted_bytes" in ran:
        peak = (
            f"; {_size(ran['undeleted_bytes'])} in work/ at its end if it deleted "
            f"nothing; at most {_size(ran['peak_bytes'])} had files left after their "
            "last reader"
        )
    return (
        f"{_time(ran['makespan_seconds'])}{peak}: the recorded run on its machine, "
        "each output counted in full from the start of its task"
    )


def _default_cell(found: Json) -> str:
    """Return the text on the simulated run without a quota."""
    return (
        f"{_run(found['unlimited'])} ({_size(found['undeleted_bytes'])} if no file is "
        "deleted), simulated without a quota: strictly in order of submission, no "
        "delay of the engine"
    )


def _copies(found: Json) -> str:
    """Return how many samples and copies of a recorded run a workflow has; for an
    instance that is no record, how many samples.
    """
    samples = counted(found["samples"], "sample")
    if found["more_samples"]:
        samples += f", {found['more_samples']['factor']} times those of the record"
        if found["copies"] < 2:
            return samples
    if not found["copies"]:
        return samples
    copies = "1 copy of the run"
    if found["copies"] > 1:
        copies = f"{found['copies']} copies of the run"
    if not found["tags"]:
        return copies
    return f"{samples} in {copies}"


def _once_cell(more: Json) -> str:
    """Return which processes are there once for all samples, and what they write, from
    *more*, the entry ``more_samples`` of the answer.
    """
    words = []
    for gathers in (False, True):
        rows = [row for row in more["once"] if row["gathers"] == gathers]
        cells = [
            f"{_short(row['process'])} ({row['tasks']}): {_size(row['bytes'])}"
            for row in rows
        ]
        if len(cells) > MOST_NAMED + 1:
            left = len(cells) - MOST_NAMED
            cells[MOST_NAMED:] = [f"{left} more processes (--format json names all)"]
        if cells and gathers:
            cells[0] = (
                f"with {more['factor']} times the recorded bytes and seconds, as they "
                f"wait for samples: {cells[0]}"
            )
        if cells:
            words.append(", ".join(cells))
    return "; ".join(words)


def _sample(found: Json) -> str:
    """Return what counts as one sample in the number of samples in flight."""
    if found["source"] == SNAKEMAKE:
        return "a value of the wildcard sample, or jobs that files join"
    if found["tags"]:
        return "the tasks of one tag"
    if found["copies"] > 1:
        return "one copy of the recorded run"
    if found["copies"]:
        return "tasks that share files"
    return "one of the instance"


def _plan_cell(found: Json) -> str:
    """Return the text on the best plan under the quota."""
    best = found["at_quota"]
    ratio = best["makespan_seconds"] / (found["unlimited"]["makespan_seconds"] or 1.0)
    why = f"lower bound {_time(best['bound'])}"
    if found["independent"]:
        why = ASSUMED
    times = f"{ratio:.2f} x the time by default"
    return f"{_run(best)}, {times}, as a list of starts that no engine takes; {why}"


def _nextflow_cell(found: Json) -> str:
    """Return the text on the caps for Nextflow and the run under them, or why no file
    is written.
    """
    caps = found["nextflow"]
    if caps["peak_bytes"] > found["quota_bytes"]:
        return f"no caps found that keep the quota ({_least_tried(caps)})"
    settings = []
    if caps["tasks"] < found["cores"]:
        settings.append(f"queueSize {caps['tasks']}")
    if caps["forks"]:
        settings.append(counted(len(caps["forks"]), "maxForks cap"))
    return f"{_run(caps)}, with {' and '.join(settings) or 'no caps'}"


def _engine(found: Json) -> str:
    """Return the engine whose runs the first row and the noisy runs tell."""
    if found["fits"]["way"] == "setting":
        return "Snakemake and ioopt"
    if found["fits"]["way"] == "nextflow" or found["source"] == TRACE:
        return "Nextflow"
    return "by default"


def _noise_cell(found: Json) -> str:
    """Return the text on the noisy runs: their makespan and peak, and the quota with
    which to plan.
    """
    from ioopt.formats.nextflow.trace import OWN_BYTES

    noise = found["noise"]
    quota = found["quota_bytes"]
    text = f"{_engine(found)}: "
    if found["fits"]["whatever_is_read"] and found["assumed_reads"].get(OWN_BYTES):
        text += "as if tasks read all files; "
    for what in ("times", "sizes"):
        if noise[what]:
            factor = exp(noise[what])
            text += f"two of three {what} within a factor of {factor:.2g}; "
    text += f"median {_time(noise['median_seconds'])}"
    text += f", worst {_time(noise['worst_seconds'])}"
    text += f", peak {_size(noise['peak_bytes'])}, {noise['stuck']} stuck"
    if noise["kept"] == noise["runs"]:
        return text
    plan = noise["plan_bytes"]
    if plan is None:
        return text
    share = f"{plan / quota:.0%}"
    some = "all" if noise["plan_kept"] == noise["runs"] else noise["plan_kept"]
    return f"{text}; plan with {_size(plan)}, {share} ({some} runs keep the quota)"


def _size(value: int) -> str:
    return quantity("bytes", value)


def _time(value: float | None) -> str:
    return quantity("seconds", value)


def _run(metrics: Json) -> str:
    return f"{_time(metrics['makespan_seconds'])}, peak {_size(metrics['peak_bytes'])}"
