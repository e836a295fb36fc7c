"""The data order of the Snakemake plugin: by hand, and in real Snakemake on a
real small file system.
"""

import atexit
import dataclasses
import json
import logging
import os
import sys
from itertools import product
from math import ceil
from types import SimpleNamespace

import pytest
from conftest import ROOT

from ioopt.budget import SNAKEMAKE
from ioopt.loading import load
from ioopt.options import Deadline
from ioopt.sim.work_directory.order import least_order, sequential_peak
from ioopt.solvers.work_directory.frontier import unlimited


class File(str):
    def is_flagged(self, flag):
        return flag == "temp" and not self.startswith("kept")


class Job:
    """A job of one core, of a *rule* of its own; *makes* are files with
    megabytes, that it *states*.
    """

    def __init__(self, name, reads=(), makes=None, priority=0, rule=None, states=True):
        self.jobid, self.rule, self.priority = (
            name,
            SimpleNamespace(name=rule or name),
            priority,
        )
        self.input, self.sizes = [File(f) for f in reads], dict(makes or {})
        self.output = [File(f) for f in self.sizes]
        stated = sum(self.sizes.values()) if states else 0
        self.scheduler_resources = {"_cores": 1, "disk_mb": stated}


class Engine:
    """Jobs, which end when told to; their files have the stated sizes."""

    def __init__(self, plugin, folder, jobs, budget_mb, **how):
        self.jobs, self.done, self.going = jobs, set(), []
        self.makers = {str(f): job for job in jobs for f in job.output}
        dag = SimpleNamespace(
            finished=self.done.__contains__,
            job_dependencies=lambda job: [
                self.makers[f] for f in job.input if f in self.makers
            ],
        )
        settings = plugin.SchedulerSettings(data=True, disk_mb=budget_mb, **how)
        self.said = []
        self.told = []
        logger = SimpleNamespace(warning=self.said.append, info=self.told.append)
        self.scheduler = plugin.Scheduler(dag, settings, logger)
        self.folder = folder
        self.more = {}

    def select(self, cores=9):
        left = [
            job for job in self.jobs if job not in self.done and job not in self.going
        ]
        ready = [j for j in left if all(self.makers[f] in self.done for f in j.input)]
        sizes = {f: self.makers[f].sizes[f] * 10**6 for job in ready for f in job.input}
        free = {"_cores": cores - len(self.going), **self.more}
        chosen = self.scheduler.select_jobs(ready, left, free, sizes)
        self.going += chosen
        return [job.jobid for job in chosen]

    def follow(self, *names):
        """One core: each of *names* is chosen, and ends."""
        for name in names:
            assert self.select(1) == [name]
            self.end(name)

    def end(self, name):
        job = next(job for job in self.going if job.jobid == name)
        self.going.remove(job)
        self.done.add(job)
        for file, size in job.sizes.items():
            with (self.folder / file).open("wb") as stream:
                stream.truncate(size * 10**6)
        for file in job.input:  # the last reader lets it go
            if all(j in self.done for j in self.jobs if file in j.input):
                (self.folder / file).unlink(missing_ok=True)


@pytest.fixture
def engine(plugin, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda jobs, budget=None, **how: Engine(
        plugin, tmp_path, jobs, budget, **how
    )


def two_samples():
    return [
        Job("trim1", (), {"t1": 10}),
        Job("map1", ("t1",), {"m1": 10}),
        Job("call1", ("m1",)),
        Job("trim2", (), {"t2": 10}),
        Job("map2", ("t2",), {"m2": 10}),
        Job("call2", ("m2",)),
    ]


# x keeps 10 MB for good, so that y2 waits for the end of z, which reads what y1 wrote.
KEEPS = [
    Job("x", (), {"kept": 10}),
    Job("y1", (), {"t1": 10}),
    Job("y2", (), {"t2": 10}),
    Job("z", ("t1",)),
]


@pytest.mark.parametrize(
    ("jobs", "budget", "cores", "steps"),
    [
        # Samples are brought to their end one after the other: the input of map1 came
        # last; call1 lets 10 MB go and writes none.
        (
            two_samples(),
            None,
            1,
            [
                (["trim1"], "trim1"),
                (["map1"], "map1"),
                (["call1"], "call1"),
                (["trim2"], None),
            ],
        ),
        # 20 MB: one sample trimmed and mapped. A second trim beside it would leave no
        # room to map any, so it waits, rather than to hand over to greedy. Then 10 of
        # m1 and 10 of t2; m1 goes with call1.
        (
            two_samples(),
            20,
            9,
            [
                (["trim1"], None),
                ([], "trim1"),
                (["map1"], "map1"),
                (["call1", "trim2"], None),
            ],
        ),
        (KEEPS, 20, 9, [(["x", "y1"], "x"), ([], "y1"), (["z"], "z"), (["y2"], None)]),
    ],
)
def test_what_is_selected_and_ends_in_turn(engine, jobs, budget, cores, steps):
    run = engine(jobs, budget)
    for selected, ended in steps:
        assert run.select(cores) == selected
        if ended:
            run.end(ended)
    assert run.said == []


def test_more_room_lets_more_run_at_once(engine):
    assert engine(two_samples(), 30).select() == ["trim1", "trim2"]
    assert engine(two_samples(), 30, in_flight=1).select() == ["trim1"]
    run = engine(two_samples(), policy="submission")
    run.follow("trim1", "trim2")  # which is ready longer than map1


def test_the_run_stops_before_a_job_that_does_not_fit(engine, plugin):
    """5 MB: a sample alone takes 20. 15 MB: trim1 fits, map1 beside it does not."""
    run = engine(two_samples(), 5)
    with pytest.raises(plugin.WorkflowError, match=r"trim1.* 10 MB.* 0 MB of 5 MB"):
        run.select()
    assert "fits 5 MB: the best needs 20 MB" in run.said[0]
    run = engine(two_samples(), 15)
    run.follow("trim1")
    with pytest.raises(plugin.WorkflowError, match=r"map1.* 10 MB of 15 MB"):
        run.select()


def test_without_an_order_jobs_run_one_at_a_time(engine):
    """Stated are 10 MB each. Once a has written 1 MB, the others are expected to as
    well, and two fit at once.
    """
    jobs = [Job(f"a{k}", (), {f"t{k}": 10}, rule="a") for k in (1, 2, 3)]
    jobs += [Job("join", ("t1", "t2", "t3"))]
    run = engine(jobs, 25)
    for job in jobs[:3]:
        job.sizes = dict.fromkeys(job.sizes, 1)
    assert run.select() == ["a1"] and run.select() == []
    run.end("a1")
    assert run.select() == ["a2", "a3"] and len(run.said) == 1


def four_runs():
    """Runs with an index, three libraries and a report each; a last job reads all
    reports, as the rule ``all`` does.
    """
    jobs = [Job(f"index{r}", (), {f"i{r}": 20}) for r in range(4)]
    for r, lib in product(range(4), "abc"):
        jobs.append(Job(f"trim{r}{lib}", (), {f"t{r}{lib}": 8}))
        jobs.append(Job(f"map{r}{lib}", (f"i{r}", f"t{r}{lib}"), {f"m{r}{lib}": 1}))
    for r in range(4):
        jobs.append(Job(f"report{r}", [f"m{r}{lib}" for lib in "abc"], {f"kept{r}": 1}))
    return [*jobs, Job("all", [f"kept{r}" for r in range(4)])]


@pytest.mark.parametrize("sample", [None, "library"])
@pytest.mark.parametrize("in_flight", [None, 2])
def test_runs_that_a_last_job_joins_go_one_after_the_other(engine, sample, in_flight):
    """One run takes 20 + 8 + 3 MB and the reports 3; the four indexes alone take 80."""
    jobs = four_runs()
    if sample is not None:
        for job in jobs:
            if job.jobid.startswith(("trim", "map")):
                job.wildcards = SimpleNamespace(sample=job.jobid[-2:])
    run = engine(jobs, 40, in_flight=in_flight)
    while len(run.done) < len(jobs):
        run.select()
        for job in run.going:  # as if it had written all of it at once
            for file, size in job.sizes.items():
                (run.folder / file).write_bytes(b"")
                os.truncate(run.folder / file, size * 10**6)
        assert sum(path.stat().st_size for path in run.folder.iterdir()) <= 40 * 10**6
        run.end(run.going[0].jobid)
    assert run.said == []


def test_an_index_that_is_named_late_is_written_first(engine):
    """The jobs are numbered as Snakemake does it: by what the last job needs. All eight
    trimmed files before the index would take 8 x 8 + 20 MB.
    """
    jobs = [Job("9", [f"m{k}" for k in range(8)])]
    for k in range(8):
        jobs.append(Job(f"{10 + k}", ("i", f"t{k}"), {f"m{k}": 1}))
        jobs.append(Job(f"{20 + k}", (), {f"t{k}": 8}))
    run = engine([*jobs, Job("30", (), {"i": 20})], 40)
    assert run.select(1) == ["30"] and run.said == []


def test_samples_in_flight_without_the_wildcard_are_runs(engine):
    """Without a limit of the disk: two of the four runs are begun."""
    run = engine(four_runs(), in_flight=2)
    assert {name[-1] for name in run.select(99) if "index" in name} == {"0", "1"}


def test_a_limit_with_its_unit(plugin, engine):
    assert plugin._disk_bytes("4GB") == plugin._disk_bytes("4000") == 4 * 10**9
    with pytest.raises(plugin.WorkflowError, match=r"--scheduler-ioopt-disk-mb: .*4XB"):
        engine([], "4XB")


def test_what_a_rule_has_written_is_expected_of_it(engine):
    """Nothing is stated: a1 is thought to write 0 as it reads, and writes 10; so will
    a2, and b beside it.
    """
    jobs = [Job(f"a{k}", (), {f"t{k}": 10}, rule="a", states=False) for k in (1, 2, 3)]
    jobs += [Job("join", ("t1", "t2", "t3"))]
    run = engine(jobs, 25)
    run.follow("a1")
    assert run.select() == ["a2"]  # 10 lie there, 10 will; a3 would make 30


def test_stated_sizes_keep_their_proportions(engine):
    """a1 states 10 MB and writes 5; a2 states 30, so that 15 are expected."""
    jobs = [
        Job(f"a{k}", (), {f"t{k}": size}, rule="a")
        for k, size in ((1, 10), (2, 30), (3, 10))
    ]
    run = engine([*jobs, Job("join", ("t1", "t2", "t3"))], 54)
    for job in jobs:
        job.sizes = {file: size // 2 for file, size in job.sizes.items()}
    run.follow("a1")
    run.select()
    assert run.scheduler._data._expected(jobs[1], 0) == [15 * 10**6]


def unstated(fetches=(10, 10, 10)):
    """Samples that a rule without input fetches; the count, which is kept, has 1 MB.
    No rule states disk_mb.
    """
    jobs = []
    for k, size in enumerate(fetches):
        jobs += [
            Job(f"f{k}", (), {f"raw{k}": size}, rule="fetch", states=False),
            Job(f"m{k}", (f"raw{k}",), {f"bam{k}": 12}, rule="map", states=False),
            Job(f"c{k}", (f"bam{k}",), {f"kept{k}": 1}, rule="count", states=False),
        ]
    return jobs


def test_the_first_job_of_unknown_size_runs_alone(engine):
    """Fetched are 10 MB each, which nothing tells: all three would start at once, and
    have 30 MB before any is mapped.
    """
    run = engine([*unstated(), Job("x", (), {"kept": 1})], 100)
    assert run.select() == ["f0"] and run.select() == []
    assert "6 from their jobs' inputs, 3 unknown" in run.told[0]
    assert "no input and no disk_mb: rule fetch;" in run.told[0]
    run.end("f0")
    assert run.select() == ["m0", "x", "f1", "f2"]
    run.end("f1")
    assert run.select() == []  # no second job beside the first of its rule
    run.end("m0")
    assert run.select() == ["c0", "m1"]


def test_rules_not_seen_yet_are_tried_before_the_run_stops(engine, plugin):
    """25 MB hold a sample (10 + 12) and two counts of 1 MB. By the inputs a count has
    10 MB, so that two of them and a sample need 40. At 20 MB there is no room for m1
    beside raw1.
    """
    run = engine(unstated(), 25)
    run.follow("f0", "m0", "c0", "f1", "m1", "c1", "f2", "m2", "c2")
    assert run.said == []  # which is usual, and no warning
    hint = next(text for text in run.told if "as usual at the start" in text)
    assert "some rules (count, map) are guesses until one job of each has run" in hint
    assert "(by the guesses the best needs 40 MB)" in hint
    assert "an order of the jobs fits 25 MB now" in run.told[-1]
    run = engine(unstated(), 20)
    run.follow("f0", "m0", "c0", "f1")
    words = r"the next, map \(job m1\), .* 12 MB, .* 11 MB of 20 MB"
    with pytest.raises(plugin.WorkflowError, match=words):
        run.select()


def test_no_order_is_a_warning_once_no_size_is_guessed(engine):
    """20 MB: m0 was guessed at the 10 MB of f0, and writes 12 beside them."""
    run = engine(unstated(), 20)
    run.follow("f0")
    assert run.said == []
    run.follow("m0")
    run.select()
    assert "wrote 12 MB more than expected" in run.said[0]
    assert "no order of the jobs was found that fits 20 MB" in run.said[1]


def recorded(tmp_path, jobs, grown=1):
    """Write the record of a run of *jobs*, and return its file."""
    tasks = [
        {
            "id": f"{job.rule.name} ({job.jobid})",
            "compute_seconds": 1,
            "outputs": list(job.sizes),
        }
        for job in jobs
    ]
    files = [
        {"id": file, "bytes": size * 10**6 // grown}
        for job in jobs
        for file, size in job.sizes.items()
    ]
    record = {"format": "ioopt/work-directory", "version": 1, "name": "run", "cores": 9}
    (tmp_path / "run.json").write_text(
        json.dumps(record | {"tasks": tasks, "files": files})
    )
    return "run.json"


def test_sizes_of_a_record_let_jobs_start_without_a_guess(engine, tmp_path):
    """25 MB hold a sample, 10 + 12, and its count. Nothing is stated; without a record
    this is what only the end of a job of each rule tells.
    """
    record = recorded(tmp_path, unstated())
    run = engine(unstated(), 25, sizes=record)
    assert run.select() == ["f0"]
    assert run.said == [] and run.told == [
        "ioopt: sizes of files not yet written: 9 as in run.json; later by what jobs "
        "of the rule have written; run times are not used; by these sizes an order of "
        "the jobs fits 25 MB"
    ]
    assert engine(unstated(), 35, sizes=record).select() == ["f0", "f1"]  # at once


def test_a_rule_in_the_record_tells_the_sizes_of_other_samples(engine, tmp_path):
    """The record has one sample; the flag of 0 bytes is one in all of them."""
    jobs = [*unstated(), Job("x", ("raw0",), {"flag": 0}, states=False)]
    record = recorded(tmp_path, [jobs[0], jobs[1], jobs[2], jobs[-1]])
    run = engine(jobs, 100, sizes=record)
    run.select()
    (told,) = run.told
    assert "written: 3 as in run.json, 7 as the mean of their rule in run.json;" in told
    data = run.scheduler._data
    assert [data._expected(job, 99)[0] for job in (jobs[4], jobs[-1])] == [
        12 * 10**6,
        0,
    ]


def test_files_not_in_the_record_keep_their_estimates(engine, tmp_path):
    record = recorded(tmp_path, [job for job in unstated() if job.rule.name != "map"])
    run = engine(unstated(), 100, sizes=record)
    run.select()
    assert "6 as in run.json; estimates: 3 from their jobs' inputs;" in run.told[0]
    record = recorded(tmp_path, two_samples())
    run = engine(unstated(), 100, sizes=record)
    run.select()
    assert "written are not in run.json, which has no rule of this run;" in run.told[0]


def test_files_that_have_grown_since_the_record_are_expected_to_grow(engine, tmp_path):
    """The record has half of what f0 writes, so that others are twice as large, too."""
    jobs = unstated((10, 20, 10))
    run = engine(jobs, 100, sizes=recorded(tmp_path, jobs, grown=2))
    run.follow("f0")
    run.select()
    data = run.scheduler._data
    assert data._expected(jobs[3], 0) == [20 * 10**6]  # 10 in the record
    assert data._expected(jobs[1], 0) == [6 * 10**6]  # no map has ended


def test_what_is_no_record_is_refused(engine, plugin, tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(plugin.WorkflowError, match=r"--scheduler-ioopt-sizes: x\.json"):
        engine([], 5, sizes="x.json")
    (tmp_path / "x.json").unlink()
    with pytest.raises(plugin.WorkflowError, match=r"--scheduler-ioopt-sizes: x\.json"):
        engine([], 5, sizes="x.json")


def test_a_job_that_oversteps_the_limit_is_named(engine):
    """The sort reads 10 MB, is expected to write as many, and writes 30."""
    fetch = Job("fetch", (), {"f": 10}, rule="fetch")
    sort = Job("sort", ("f",), {"s": 30}, rule="sort", states=False)
    run = engine([fetch, sort], 20)
    run.follow("fetch", "sort")
    run.scheduler._data.choose(question_of_none(run), [], Deadline(None))
    (note,) = run.scheduler._data.notes
    assert note == (
        "sort (job sort) wrote 20 MB more than expected: the files of this run had up "
        "to 40 MB of 20 MB, with the outputs of running jobs in full; state disk_mb in "
        "its rule"
    )


def question_of_none(run):
    """Return what Snakemake asks where no job is left."""
    return SimpleNamespace(jobs=[], ready=[], capacities=[], free={"_cores": 9})


def test_a_run_is_recorded(plugin, engine, tmp_path):
    """The log says when jobs start and end; temporary files are measured before they
    go, and files that stay are kept.
    """
    jobs = [
        Job("1", (), {"t": 10}, rule="trim"),
        Job("2", ("t",), {"kept": 3}, rule="map"),
        Job("3", ("kept",), {}, rule="all"),
    ]
    run = engine(jobs)
    target = tmp_path / "run.json"
    recorder = plugin.Recorder(run.scheduler.dag, str(target), logging.Logger("x"))
    run.scheduler._recorder = recorder

    def say(event, now, **told):
        line = {"event": SimpleNamespace(value=event), "created": now, **told}
        recorder.emit(logging.makeLogRecord(line))

    for name, seconds in (("1", 5), ("2", 7), ("3", 1)):
        assert run.select() == [name]
        say("job_started", 100, jobs=[name])
        job = run.going[0]
        for file, size in job.sizes.items():
            (tmp_path / file).write_bytes(bytes(size * 10**6))
        say("job_finished", 100 + seconds, job_id=name)
        run.end(name)
    recorder.write()
    atexit.unregister(recorder.write)
    made = load(str(target))
    assert [(t.id, t.compute_seconds, t.inputs) for t in made.tasks] == [
        ("trim", 5, ()),
        ("map", 7, ("t",)),
    ]
    assert {f.id: (f.bytes, f.keep) for f in made.files} == {
        "t": (10 * 10**6, False),
        "kept": (3 * 10**6, True),
    }
    # 10 MB of t lie there until map, which writes 3, has ended.
    seen = {"makespan_seconds": 7, "peak_bytes": 13 * 10**6}
    assert made.cores == 9 and made.meta == {"source": SNAKEMAKE, "observed": seen}


def test_priority_comes_before_data(engine):
    jobs = [*two_samples(), Job("urgent", (), {"u": 1}, priority=1)]
    assert engine(jobs).select(1) == ["urgent"]


def test_a_job_that_failed_leaves_its_room_to_the_next_try(engine):
    # as on a full disk: what the job would have written is not held against it,
    # and it starts again
    run = engine(two_samples(), 20)
    assert run.select() == ["trim1"]
    run.going.clear()
    assert run.select() == ["trim1"]
    run.end("trim1")
    assert run.select() == ["map1"]


def test_where_the_data_order_fails_snakemake_chooses(engine):
    run = engine(two_samples(), 20)
    run.scheduler._data.choose = None  # whatever goes wrong
    assert run.scheduler.select_jobs(run.jobs[:1], run.jobs, {"_cores": 1}, {}) is None
    assert "greedy" in run.said[0]


def test_a_failed_job_does_not_hold_up_those_that_go_on(engine):
    """--keep-going: trim1 is neither ready again nor finished. Its room is
    free once nothing runs.
    """
    run = engine(two_samples(), 20)
    assert run.select() == ["trim1"]
    run.going.clear()
    run.jobs = run.jobs[
        1:
    ]  # map1 and call1 never become ready, and no room is kept for them
    assert run.select() == ["trim2"]
    run.end("trim2")
    assert run.select() == ["map2"] and run.said == []


def test_a_limit_of_submissions_does_not_hide_that_nothing_runs(engine):
    """Snakemake tells another count of submissions each
    time (--max-jobs-per-timespan).
    """
    run = engine(two_samples(), 20)
    run.more = {"_job_count": 100}
    assert run.select() == ["trim1"]
    run.going.clear()
    run.jobs = run.jobs[1:]
    run.more = {"_job_count": 99}
    assert run.select() == ["trim2"]
    run.end("trim2")
    run.more = {"_job_count": 98}
    assert run.select() == ["map2"] and run.said == []


def test_jobs_without_number_are_told_from_none(engine):
    """--jobs unlimited: cores without end are fewer while a job runs,
    and its room is kept.
    """
    run = engine(two_samples(), 20)
    assert run.select(sys.maxsize) == ["trim1"]
    assert run.select(sys.maxsize) == []  # t2 and m1 would not fit beside t1
    run.end("trim1")
    assert run.select(sys.maxsize) == ["map1"] and run.said == []


def test_a_restarted_run_counts_what_lies_there(engine):
    """20 MB, killed after a: t1 lies there and waits for t2, so that b
    alone fits beside it.
    """
    jobs = [
        Job("a", (), {"t1": 10}),
        Job("b", (), {"t2": 10}),
        Job("other", (), {"t3": 10}),
        Job("join", ("t1", "t2")),
    ]
    run = engine(jobs, 20)
    run.going.append(jobs[0])
    run.end("a")
    again = engine(jobs, 20)
    again.done.add(jobs[0])
    assert again.select() == ["b"]
    again.end("b")
    assert again.select() == ["join"]


def test_jobs_that_a_checkpoint_brings_are_taken_in(engine):
    """20 MB: trim1 runs when trim3 appears, which is ready and
    has no room beside it.
    """
    run = engine(two_samples(), 20)
    assert run.select() == ["trim1"]
    run.jobs.append(Job("trim3", (), {"t3": 10}, priority=1))
    assert run.select() == ["trim3"]  # nobody reads it: it goes at its end
    assert run.select() == [] and len(run.going) == 2


def test_estimates_are_told_once(engine):
    """Of four files two have a size that their rule states; the job of the others
    states none.
    """
    jobs = [*two_samples()[:3], Job("z", ("m1",), {"z": 1, "kept": 4}, states=False)]
    run = engine(jobs, 90)
    run.select()
    run.end("trim1")
    run.select()
    assert run.told == [
        "ioopt: sizes of files not yet written are estimates: 2 from disk_mb of "
        "their rules, 2 from their jobs' inputs; later by what jobs of the rule have "
        "written; run times are not used"
    ]


def test_the_help_of_each_option_is_a_sentence(plugin):
    """It says what the number counts, and which default there is."""
    fields = {
        row.name: row.metadata["help"]
        for row in dataclasses.fields(plugin.SchedulerSettings)
    }
    page = (ROOT / "docs" / "snakemake.md").read_text("utf-8")
    for name, text in fields.items():
        assert text[0].isupper() and text.endswith("."), name
        assert f"--scheduler-ioopt-{name.replace('_', '-')}" in page
    assert "estimates" in fields["disk_mb"]


def test_a_policy_that_there_is_not(plugin):
    for option, value in (("policy", "widest"), ("in_flight", 0)):
        settings = plugin.SchedulerSettings(**{option: value})
        words = rf"--scheduler-ioopt-{option.replace('_', '-')}: .*{value}"
        with pytest.raises(plugin.WorkflowError, match=words):
            plugin.Scheduler(SimpleNamespace(), settings, None)


# needs Snakemake, which .ci/run installs for the slow tests, and leave to mount a tmpfs
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheduler", "room", "ends"),
    [
        ("ioopt", 0, True),
        ("ilp", 0, True),
        ("greedy", 1.25, False),
        ("ioopt data", 1.25, True),
    ],
)
def test_real_snakemake_on_a_small_disk(tmp_path, scheduler, room, ends) -> None:
    """Eight samples in a disk of *room* times what one after the other needs, or
    in one that is large.

    The order of submission takes more than four times that: the first steps of
    all lie there at once.
    """
    pytest.importorskip("snakemake")
    from bench.on_snakemake import SHAPES, as_run, generate, mounted, run_stub, write

    workflow = as_run(
        generate("methylseq-like", SHAPES["methylseq-like"], 0), 200 * 10**6
    )
    least = sequential_peak(workflow, least_order(workflow))
    assert unlimited(workflow)["peak_bytes"] > 4 * least
    quota = ceil(room * least) or None
    write(workflow, tmp_path, 2.0)
    try:
        with mounted(workflow, tmp_path / "work", quota):
            peak = run_stub(8, tmp_path, scheduler, quota)
    except PermissionError as error:
        pytest.skip(f"no file system can be mounted: {error}")
    assert (peak is not None) is ends
    assert ("No space left on device" in (tmp_path / "log").read_text()) is not ends
    if quota and ends:
        assert least / 2 < peak < quota + 4096 * len(workflow.products)
