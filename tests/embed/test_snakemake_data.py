"""The data order of the Snakemake plugin, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


class File(str):
    def is_flagged(self, flag):
        return flag == "temp"


class Job:
    """A job of one core, of a rule of its own; *makes* are temporary files with megabytes."""

    def __init__(self, name, reads=(), makes=None, priority=0):
        self.jobid, self.rule, self.priority = name, SimpleNamespace(name=name), priority
        self.input, self.sizes = [File(f) for f in reads], dict(makes or {})
        self.output = [File(f) for f in self.sizes]
        self.scheduler_resources = {"_cores": 1, "disk_mb": sum(self.sizes.values())}


class Engine:
    """Jobs, which end when told to; their files have the stated sizes."""

    def __init__(self, plugin, folder, jobs, budget_mb):
        self.jobs, self.done, self.going = jobs, set(), []
        self.makers = {str(f): job for job in jobs for f in job.output}
        dag = SimpleNamespace(
            finished=self.done.__contains__,
            job_dependencies=lambda job: [self.makers[f] for f in job.input if f in self.makers],
        )
        settings = plugin.SchedulerSettings(data=True, disk_mb=budget_mb)
        self.scheduler = plugin.Scheduler(dag, settings, None)
        self.folder = folder

    def select(self, cores=9):
        left = [job for job in self.jobs if job not in self.done and job not in self.going]
        ready = [j for j in left if all(self.makers[f] in self.done for f in j.input)]
        sizes = {f: self.makers[f].sizes[f] * 10**6 for job in ready for f in job.input}
        chosen = self.scheduler.select_jobs(ready, left, {"_cores": cores - len(self.going)}, sizes)
        self.going += chosen
        return [job.jobid for job in chosen]

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
    return lambda jobs, budget=None: Engine(plugin, tmp_path, jobs, budget)


def two_samples():
    return [
        Job("trim1", (), {"t1": 10}), Job("map1", ("t1",), {"m1": 10}), Job("call1", ("m1",)),
        Job("trim2", (), {"t2": 10}), Job("map2", ("t2",), {"m2": 10}), Job("call2", ("m2",)),
    ]  # fmt: skip


def test_samples_are_brought_to_their_end_one_after_the_other(engine):
    run = engine(two_samples())
    assert run.select(1) == ["trim1"]
    run.end("trim1")
    assert run.select(1) == ["map1"]  # its input came last
    run.end("map1")
    assert run.select(1) == ["call1"]  # lets 10 MB go and writes none
    run.end("call1")
    assert run.select(1) == ["trim2"]


def test_a_budget_keeps_room_for_the_step_that_lets_go(engine):
    # 20 MB: one sample trimmed and mapped. A second trim would leave no room to map any.
    run = engine(two_samples(), 20)
    assert run.select() == ["trim1"]
    assert run.select() == []  # waits, rather than to hand over to greedy
    run.end("trim1")
    assert run.select() == ["map1"]
    run.end("map1")
    assert run.select() == ["call1"]
    run.end("call1")
    assert run.select() == ["trim2"]


def test_more_room_lets_more_run_at_once(engine):
    assert engine(two_samples(), 30).select() == ["trim1", "trim2"]


def test_what_fits_nowhere_starts_where_nothing_runs(engine):
    assert engine(two_samples(), 5).select() == ["trim1"]


def test_priority_comes_before_data(engine):
    jobs = [*two_samples(), Job("urgent", (), {"u": 1}, priority=1)]
    assert engine(jobs).select(1) == ["urgent"]


def test_a_job_that_failed_leaves_its_room_to_the_next_try(engine):
    # as on a full disk: what the job would have written is not held against it, and it starts again
    run = engine(two_samples(), 20)
    assert run.select() == ["trim1"]
    run.going.clear()
    assert run.select() == ["trim1"]
    run.end("trim1")
    assert run.select() == ["map1"]


def test_a_file_that_somebody_deletes_takes_no_room(engine):
    run = engine(two_samples(), 20)
    run.select()
    run.end("trim1")
    assert run.select() == ["map1"]
    (run.folder / "t1").unlink()
    assert run.select() == []  # 10 MB will be written, and the step after it needs as much
    run.end("map1")
    assert run.select() == ["call1"]


def test_where_the_data_order_fails_snakemake_chooses(engine):
    run, said = engine(two_samples(), 20), []
    run.scheduler.logger = SimpleNamespace(warning=said.append)
    run.scheduler._data.choose = None  # whatever goes wrong
    sizes, jobs = {}, run.jobs
    assert run.scheduler.select_jobs(jobs[:1], jobs, {"_cores": 1}, sizes) is None
    assert "greedy" in said[0]


def test_a_failed_job_does_not_hold_up_those_that_go_on(engine):
    """--keep-going: trim1 is neither ready again nor finished. Its room is free once nothing runs."""
    run = engine(two_samples(), 20)
    assert run.select() == ["trim1"]
    run.going.clear()
    run.jobs = run.jobs[3:]  # what needs trim1 never becomes ready
    assert run.select() == ["trim2"]


def test_a_restarted_run_counts_what_lies_there(engine):
    """30 MB, killed after a: t1 lies there and waits for t2, so that b alone fits beside room for a step."""
    jobs = [Job("a", (), {"t1": 10}), Job("b", (), {"t2": 10}), Job("c", (), {"t3": 10}),
            Job("join", ("t1", "t2"))]  # fmt: skip
    run = engine(jobs, 30)
    run.going.append(jobs[0])
    run.end("a")
    again = engine(jobs, 30)
    again.done.add(jobs[0])
    assert again.select() == ["b"]
