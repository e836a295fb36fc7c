"""The plan order of the Snakemake plugin: by hand, and in real Snakemake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT

INSTANCE: dict[str, Any] = {
    "format": "ioopt/replication",
    "version": 1,
    "name": "two chains",
    "network": {"remote_bytes_per_second": 10.0, "replica_bytes_per_second": 40.0},
    "nodes": [{"id": "a"}, {"id": "b"}],
    "files": [{"id": "x", "bytes": 10}],
    "tasks": [
        {"id": "x", "compute_seconds": 1.0, "outputs": ["x"]},
        {"id": "y", "compute_seconds": 1.0},
        {"id": "z", "compute_seconds": 1.0, "inputs": ["x"]},
        {"id": "w", "compute_seconds": 1.0},
    ],
}
PLAN = {"order": {"a": ["y", "x"], "b": ["z", "w"]}, "moves": [["b", "x", "a"]]}


class File(str):
    def is_flagged(self, flag: str) -> bool:
        return False


class Job:
    def __init__(self, name: str, *reads: str) -> None:
        self.jobid = name
        self.priority = 0
        self.rule = SimpleNamespace(name=f"make_{name}")
        self.input = [File(file) for file in reads]
        self.output = [File(name)]
        self.scheduler_resources = {"_cores": 1}


class Engine:
    """Jobs by name, which end when told to."""

    def __init__(self, plugin: Any, folder: Path, jobs: list[Job], plan: Any) -> None:
        (folder / "instance.json").write_text(json.dumps(INSTANCE))
        (folder / "plan.json").write_text(json.dumps(plan))
        self.jobs = {job.jobid: job for job in jobs}
        self.done: set[Job] = set()
        self.going: list[Job] = []
        settings = plugin.SchedulerSettings(
            plan=str(folder / "plan.json"), instance=str(folder / "instance.json")
        )
        dag = SimpleNamespace(
            finished=self.done.__contains__, job_dependencies=lambda job: []
        )
        self.said: list[str] = []
        logger = SimpleNamespace(warning=self.said.append)
        self.scheduler = plugin.Scheduler(dag, settings, logger)

    def select(self, cores: int = 9) -> list[str]:
        busy = {*self.done, *self.going}
        left = [job for job in self.jobs.values() if job not in busy]
        made = {str(job.output[0]) for job in self.done}
        ready = [job for job in left if made.issuperset(map(str, job.input))]
        free = {"_cores": cores - len(self.going)}
        chosen = self.scheduler.select_jobs(ready, left, free, {})
        self.going += chosen
        return [job.jobid for job in chosen]

    def end(self, name: str) -> None:
        self.going.remove(self.jobs[name])
        self.done.add(self.jobs[name])

    def fail(self, name: str) -> None:
        self.going.remove(self.jobs[name])


def jobs() -> list[Job]:
    return [Job("x"), Job("y"), Job("z", "x"), Job("w")]


def test_jobs_start_in_the_order_of_the_plan(plugin: Any, tmp_path: Path) -> None:
    """y goes before x on a, whose only core it takes; w waits for z on b."""
    engine = Engine(plugin, tmp_path, jobs(), PLAN)
    assert engine.select() == ["y"]
    assert engine.select() == []
    engine.end("y")
    assert engine.select() == ["x"]
    engine.end("x")
    assert engine.select() == ["z"]
    engine.end("z")
    assert engine.select() == ["w"]
    assert engine.said == []


def test_a_job_that_the_plan_does_not_know_starts_when_cores_idle(
    plugin: Any, tmp_path: Path
) -> None:
    engine = Engine(plugin, tmp_path, [*jobs(), Job("other")], PLAN)
    assert engine.select(2) == ["y", "other"]


def test_tasks_whose_outputs_are_there_are_passed_over(
    plugin: Any, tmp_path: Path
) -> None:
    engine = Engine(plugin, tmp_path, [Job("z"), Job("w")], PLAN)
    assert engine.select() == ["z"]
    engine.end("z")
    assert engine.select() == ["w"]


def test_a_job_that_fails_is_tried_again_while_the_plan_goes_on(
    plugin: Any, tmp_path: Path
) -> None:
    engine = Engine(plugin, tmp_path, jobs(), PLAN)
    assert engine.select() == ["y"]
    engine.fail("y")
    assert engine.select() == ["x", "y"]


def test_where_the_plan_waits_for_ever_a_job_starts_all_the_same(
    plugin: Any, tmp_path: Path
) -> None:
    """The instance does not say that y reads x."""
    engine = Engine(plugin, tmp_path, [Job("x"), Job("y", "x")], PLAN)
    assert engine.select() == ["x"]
    assert engine.said == ["ioopt: job x starts out of the plan"]
    engine.end("x")
    assert engine.select() == ["y"]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"plan": "p.json"}, "plan and --scheduler-ioopt-instance go together"),
        ({"plan": "p.json", "instance": "i.json"}, "no such file"),
        ({"plan": "p.json", "instance": "i.json", "data": True}, "leave its options"),
    ],
)
def test_settings_that_cannot_be_followed_are_refused(
    plugin: Any, settings: dict[str, Any], text: str
) -> None:
    from snakemake_interface_common.exceptions import WorkflowError

    given = plugin.SchedulerSettings(**settings)
    with pytest.raises(WorkflowError, match=text):
        plugin.Scheduler(SimpleNamespace(), given, SimpleNamespace())


def test_a_plan_that_is_not_bound_is_refused(plugin: Any, tmp_path: Path) -> None:
    from snakemake_interface_common.exceptions import WorkflowError

    with pytest.raises(WorkflowError, match="moves=schedule"):
        Engine(plugin, tmp_path, jobs(), {"order": PLAN["order"]})


SNAKEFILE = """
rule all:
    input: "z", "w"

rule x:
    output: "x"
    shell: "echo x >> log; touch {output}"

rule y:
    output: "y"
    shell: "echo y >> log; touch {output}"

rule z:
    input: "x", "y"
    output: "z"
    shell: "echo z >> log; touch {output}"

rule w:
    output: "w"
    shell: "echo w >> log; touch {output}"
"""


@pytest.mark.slow
def test_snakemake_follows_a_plan(tmp_path: Path) -> None:
    pytest.importorskip("snakemake")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "instance.json").write_text(json.dumps(INSTANCE))
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    plugin = ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plugin), str(ROOT)])}
    command = [sys.executable, "-m", "snakemake", "--scheduler", "ioopt"]
    command += ["--scheduler-ioopt-plan", str(tmp_path / "plan.json")]
    command += ["--scheduler-ioopt-instance", str(tmp_path / "instance.json")]
    command += ["--cores", "4", "--directory", str(tmp_path)]
    command += ["--snakefile", str(tmp_path / "Snakefile")]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "ioopt could not" not in run.stderr
    assert (tmp_path / "log").read_text().split() == ["y", "x", "z", "w"]
