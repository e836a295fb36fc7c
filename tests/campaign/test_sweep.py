"""Sweeps end to end: run, resume, fail, be killed; every point stored exactly once."""

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from campaign_helpers import (
    MINIMAL,
    ended_after_a_pause,
    environment,
    rows_so_far,
    run_sweep,
    stable_rows,
    sweep_command,
    wait_for_rows,
    write_config,
)


@pytest.mark.slow
def test_a_sweep_runs_every_point_and_resumes_nothing(tmp_path):
    config, store = write_config(tmp_path), tmp_path / "runs.sqlite"
    run = run_sweep(config, store, "--workers", "2")
    assert run.returncode == 0, run.stderr
    assert (
        "6 runs done, 0 already in the store, 0 crashed, 0 with violations"
        in run.stdout
    )
    rows = stable_rows(store)
    assert len(rows) == 6
    assert all(row[7] in ("feasible", "optimal") for row in rows)
    again = run_sweep(config, store)
    assert again.returncode == 2 and "--resume" in again.stderr
    resumed = run_sweep(config, store, "--resume")
    assert "0 runs done, 6 already in the store" in resumed.stdout
    assert stable_rows(store) == rows


def said(done, there):
    """What a sweep without crashes says at its end."""
    return f"{done} runs done, {there} already in the store, 0 crashed, 0 with"


def worker_processes(client_pid):
    """Worker processes below the client (its direct and indirect children)."""
    found, frontier = [], [client_pid]
    table = subprocess.run(
        ["ps", "-eww", "-o", "pid=,ppid=,args="], capture_output=True, text=True
    ).stdout
    rows = [line.split(None, 2) for line in table.splitlines()]
    while frontier:
        parents = {str(pid) for pid in frontier}
        frontier = [int(row[0]) for row in rows if row[1] in parents]
        found += [pid for pid in frontier if pid not in found]
    names = {int(row[0]): row[2] for row in rows}
    return [
        pid
        for pid in found
        if "resource_tracker" not in names.get(pid, "") and pid in names
    ]


@pytest.mark.slow
def test_thirty_kills_lose_and_double_nothing(tmp_path):
    """A sweep with two workers, killed after some more rows and resumed, thirty times;
    before, one of its workers. A sweep that ends first is compared and begun anew, so
    that a fast machine kills as often.
    """
    config = write_config(tmp_path, seeds=12, repeats=10, tasks=(60, 70))
    calm, rough = tmp_path / "calm.sqlite", tmp_path / "rough.sqlite"
    assert run_sweep(config, calm, "--workers", "2").returncode == 0
    rng = random.Random(2)
    command = sweep_command(config, rough, "--resume", "--workers", "2")
    killed = 0
    while killed < 30:
        process = subprocess.Popen(
            command,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_rows(process, rough, rows_so_far(rough) + rng.randint(1, 6))
        workers = worker_processes(process.pid)
        if workers:
            with suppress(ProcessLookupError):  # it may have ended since it was found
                os.kill(rng.choice(workers), signal.SIGKILL)
                killed += 1
        wait_for_rows(process, rough, rows_so_far(rough) + rng.randint(1, 6))
        ended = process.poll() is not None
        process.kill()
        process.wait()
        if ended:
            assert stable_rows(rough) == stable_rows(calm)
            for part in tmp_path.glob(f"{rough.name}*"):
                part.unlink()
    kept = len(stable_rows(rough))
    finish = run_sweep(config, rough, "--resume", "--workers", "2")
    assert said(500 - kept, kept) in finish.stdout
    assert stable_rows(rough) == stable_rows(calm)


@pytest.mark.slow
def test_an_interrupted_sweep_says_so_in_one_line_and_goes_on(tmp_path):
    """Ctrl-C reaches the whole process group, workers included, as
    it does on a terminal.
    """
    config = write_config(tmp_path, seeds=12, repeats=10, tasks=(60, 70))
    store = tmp_path / "runs.sqlite"
    process = subprocess.Popen(
        sweep_command(config, store, "--workers", "2"),
        env=environment(),
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for_rows(process, store, 20)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate()[1].strip() == "ioopt: interrupted"
    assert process.returncode == 130
    before = len(stable_rows(store))
    assert 20 <= before < 500
    resumed = run_sweep(config, store, "--resume", "--workers", "2")
    assert said(500 - before, before) in resumed.stdout


@pytest.mark.slow
def test_a_scheduler_and_workers_started_by_hand_give_the_same(tmp_path):
    pytest.importorskip("distributed")
    config = write_config(tmp_path, seeds=3, repeats=2)
    calm, remote = tmp_path / "calm.sqlite", tmp_path / "remote.sqlite"
    assert run_sweep(config, calm, "--workers", "2").returncode == 0
    address_file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = {
        "env": environment(),
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    processes = [
        subprocess.Popen(
            [
                *dask,
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(address_file),
            ],
            **options,
        )
    ]
    try:
        worker = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--no-dashboard",
            "--scheduler-file",
            str(address_file),
            "--nthreads",
            "1",
        ]
        processes += [subprocess.Popen(worker, **options) for _ in range(2)]
        address = _address(address_file, processes[0])
        run = run_sweep(config, remote, "--scheduler", address)
        assert run.returncode == 0, run.stderr
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert stable_rows(remote) == stable_rows(calm)


def _address(path, scheduler):
    while not ended_after_a_pause(scheduler):
        if path.exists() and path.stat().st_size:
            return json.loads(path.read_text())["address"]
    raise AssertionError("the scheduler did not start")


def test_a_system_without_file_locks_is_told_in_one_line(tmp_path):
    """As on Windows: importing fcntl fails there, and a process cannot be forked."""
    (tmp_path / "c.toml").write_text(MINIMAL)
    script = (
        "import os, sys; sys.modules['fcntl'] = None; del os.fork; "
        "from ioopt.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "sweep", "c.toml", "--store", "s.sqlite"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 6 and ran.stdout == ""
    (said,) = ran.stderr.splitlines()
    assert said.startswith("ioopt: sweep: this system has no file locks (fcntl)")
