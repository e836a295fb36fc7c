"""Experiments through the store, and their workers: no port, one task at a time,
gone with the client.
"""

import glob
import multiprocessing
import os
import threading
from contextlib import nullcontext

import pytest
from campaign_helpers import rows_in, run_study

from ioopt.campaign.executors import LocalExecutor, open_executor
from ioopt.campaign.report import report_html
from ioopt.campaign.runner import run_tasks
from ioopt.campaign.store import Store, StoreReader
from ioopt.campaign.study import open_campaign
from ioopt.campaign.work import Experiment, perform
from ioopt.errors import IooptError

KILLED = "its worker died: killed by SIGKILL, as the system does when memory runs out"
HOARDED = "its worker used more than 400MB of memory (tried 3 times)"


def experiments(name, seeds, limit=None):
    """Seed 3 alone has the hard limit: how slowly a worker starts ends no other."""
    return [
        Experiment(
            "x",
            f"campaign_experiments:{name}",
            {"seed": seed},
            limit if seed == 3 else None,
        )
        for seed in range(seeds)
    ]


@pytest.mark.parametrize(
    ("name", "limit", "threads", "reason"),
    [
        ("die", None, False, "its worker died: exit status 1 (tried 3 times)"),
        ("die", None, True, "its worker died: exit status 1 (tried 3 times)"),
        ("kill", None, False, f"{KILLED} (tried 3 times)"),
        ("overstay", 0.1, False, "ended at its hard limit of 0.1 s"),
        pytest.param("hoard", None, False, HOARDED, marks=pytest.mark.slow),
    ],
)
def test_a_death_costs_its_own_task_alone(tmp_path, name, limit, threads, reason):
    """Also where other threads run: seed 3 ends its worker each of three times, never
    ends and is ended at its hard limit, or needs more memory than it may have."""
    memory = pytest.importorskip("psutil") and "400MB" if name == "hoard" else None
    stay = threading.Event()
    if threads:
        threading.Thread(target=stay.wait).start()
    path = str(tmp_path / "runs.sqlite")
    try:
        with Store(path) as store, open_executor(2, None, memory) as executor:
            tally = run_tasks(experiments(name, 6, limit), store, executor)
    finally:
        stay.set()
    assert (tally.done, tally.crashed, tally.with_violations) == (6, 1, 0)
    with StoreReader(path) as reader:
        rows = {row[0]: row[1:] for row in rows_in(reader, ("seed", "status", "error"))}
    assert {seed for seed, row in rows.items() if row[0] == "done"} == {0, 1, 2, 4, 5}
    assert rows[3] == ("failed", reason)


def test_numerical_libraries_of_workers_use_one_thread(monkeypatch):
    """Unless the user says otherwise; our own process keeps what it has."""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with LocalExecutor(1) as executor:
        ((_, row),) = executor.answers([Experiment("x", "os:environ.copy", {})], {})
    found = {
        name: row["metrics"].get(f"{name}_NUM_THREADS") for name in ("OMP", "OPENBLAS")
    }
    assert found == {"OMP": "3", "OPENBLAS": "1"}
    assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.mark.skipif(
    not os.path.exists("/proc/net/tcp"), reason="reads the tables of Linux"
)
def test_no_process_of_a_sweep_listens():
    with LocalExecutor(1) as executor:
        ((_, row),) = executor.answers(experiments("square", 1), {})
        assert row["metrics"] == {"value": 0.0}
        workers = multiprocessing.active_children()
        pids = {os.getpid(), *(worker.pid for worker in workers)}
        assert len(pids) == 2 and not listening(pids)


def listening(pids: set[int]) -> set[str]:
    """Inodes of the TCP sockets on which these processes listen."""
    ours = set()
    for pid in pids:
        for link in glob.glob(f"/proc/{pid}/fd/*"):
            if os.path.islink(link):
                ours.add(os.readlink(link).removeprefix("socket:[").rstrip("]"))
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            words = [line.split() for line in list(lines)[1:]]
        found |= {row[9] for row in words if row[3] == "0A"}
    return ours & found


def test_a_busy_worker_ends_with_its_parent_and_leaves_the_store(tmp_path):
    """Seed 3 computes without end; the client is killed at the fifth row. Standard
    output of the whole ends only when nobody has it any more."""
    path = str(tmp_path / "runs.sqlite")
    assert run_study(path, "overstay", 6, last=5).returncode == 9
    with Store(path) as store:
        assert len(store.done()) == 5


SEEDS = [{"seed": seed} for seed in range(6)]


def in_this_process(tasks, store, executor):
    for task in tasks:
        store.put(perform(task, None))


@pytest.fixture
def without_workers(monkeypatch):
    """Experiments run here, so that a test of what a study asks
    for needs no workers.
    """
    monkeypatch.setattr("ioopt.campaign.study.run_tasks", in_this_process)
    monkeypatch.setattr("ioopt.campaign.study.open_executor", lambda *_: nullcontext())


def test_a_value_is_computed_once_and_found_again(tmp_path, without_workers):
    path = str(tmp_path / "runs.sqlite")
    with open_campaign(path, 1) as campaign:
        study = campaign.study("squares")
        found = study.values("campaign_experiments:square", [*SEEDS, {"seed": 2}])
        assert [row["value"] for row in found] == [0, 1, 4, 9, 16, 25, 4]
        assert study.num_run == study.num_values == 6
        scaled = study.values(
            "campaign_experiments:square", [{"seed": 2, "scale": 10.0}]
        )
        assert scaled == [{"value": 40.0}] and study.num_run == 7
    with open_campaign(path, 1) as campaign:
        study = campaign.study("squares")
        again = study.values("campaign_experiments:square", list(reversed(SEEDS)))
        assert [row["value"] for row in again] == [25, 16, 9, 4, 1, 0]
        assert study.num_run == 0 and study.num_values == 6 and study.seconds > 0
    with StoreReader(path) as reader:
        rows = list(
            rows_in(reader, ("family", "kind", "instance", "solver", "seed", "status"))
        )
    assert sorted(row[4] for row in rows) == [0, 1, 2, 2, 3, 4, 5]
    assert {(*row[:4], row[5]) for row in rows} == {
        ("experiment", "experiment", "squares", "campaign_experiments.square", "done")
    }
    page = report_html([path])
    assert "<h2>Experiments</h2>" in page and "campaign_experiments.square" in page


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("refuse", "ValueError: three is too many"),
        ("stop", "SystemExit: three is refused"),
        (
            "listed",
            "TypeError: campaign_experiments:listed returned list, not a mapping",
        ),
        ("opaque", "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_a_failed_value_says_why_and_is_tried_again(
    tmp_path, without_workers, function, reason
):
    path, target = str(tmp_path / "runs.sqlite"), f"campaign_experiments:{function}"
    for _ in range(2):
        with open_campaign(path, 1) as campaign:
            study = campaign.study("x")
            with pytest.raises(IooptError, match=reason) as caught:
                study.values(target, SEEDS)
            assert f"{target}(seed=" in str(caught.value)
            assert 1 <= study.num_run <= 6
    with StoreReader(path) as reader:
        assert len(rows_in(reader)) == 6


@pytest.mark.slow
def test_a_killed_study_goes_on_from_its_store(tmp_path):
    """The client ends at its fifth row without any farewell; then the
    same study runs again.
    """
    path = str(tmp_path / "runs.sqlite")
    assert run_study(path, "square", 12, last=5).returncode == 9
    with StoreReader(path) as reader:
        assert len(rows_in(reader)) == 5
    again = run_study(path, "square", 12)
    assert again.returncode == 0, again.stderr
    assert again.stdout.split() == ["7", str(sum(n * n for n in range(12))) + ".0"]
    with StoreReader(path) as reader:
        assert len(rows_in(reader)) == 12
