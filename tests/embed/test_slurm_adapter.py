"""The Slurm adapter: on a recorded queue, and on a real four-node
cluster of this machine.
"""

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import threading

import pytest

from ioopt.embed.adapters.slurm import SlurmPlacer, main, run_command
from ioopt.errors import BackendMissingError, UsageError

FILES = [{"id": f"f{k}", "bytes": 1000} for k in range(6)]
NODES = [{"id": f"n{k}", "disk_bytes": 3000} for k in range(4)]
SITE = {
    "network": {"remote_bytes_per_second": 1000.0, "replica_bytes_per_second": 10000.0},
    "nodes": NODES,
    "files": FILES,
}


def held(number, *inputs, state="PENDING", reason="JobHeldUser", mark="ioopt:"):
    comment = mark + json.dumps({"inputs": list(inputs), "compute_seconds": 1})
    return {
        "job_id": number,
        "job_state": state,
        "state_reason": reason,
        "comment": comment,
    }


class Recorded:
    """A Slurm that remembers jobs and what it was told, and
    numbers new jobs from 101.
    """

    def __init__(self, jobs):
        self.jobs, self.told, self.next = jobs, [], 100

    def __call__(self, words):
        if words[0] == "squeue":
            return json.dumps({"jobs": self.jobs})
        self.told.append(list(words))
        if words[0] == "sbatch":
            self.next += 1
            comment = next(w for w in words if w.startswith("--comment=")).partition(
                "="
            )[2]
            self.jobs.append(held(self.next, reason="None") | {"comment": comment})
            return f"{self.next}\n"
        if words[1] == "release":
            (job,) = (job for job in self.jobs if job["job_id"] == int(words[2]))
            job["state_reason"] = "None"
        return ""


def placer(slurm, **options):
    return SlurmPlacer(
        SITE, "stage {file} {source} {node}", solver="minmin", runner=slurm, **options
    )


def test_held_jobs_are_staged_placed_and_released():
    slurm = Recorded(
        [
            held(1, "f0"),
            held(2, "f0", "f1"),
            held(3, "f2", state="RUNNING", reason="None"),
            {
                "job_id": 4,
                "job_state": "PENDING",
                "state_reason": "JobHeldUser",
                "comment": "",
            },
        ]
    )
    placed = placer(slurm).place()
    assert sorted(p.job for p in placed) == [1, 2]
    released = [
        words[2] for words in slurm.told if words[:2] == ["scontrol", "release"]
    ]
    assert sorted(released) == ["1", "2"]
    for p in placed:
        update = next(
            w for w in slurm.told if w[:3] == ["scontrol", "update", f"JobId={p.job}"]
        )
        assert f"ReqNodeList={p.node}" in update
        assert all(f"afterok:{number}" in update[-1] for number in p.staging)
    staged = [w for w in slurm.told if w[0] == "sbatch"]
    marks = [w[7] for w in staged]
    assert len(marks) == len(set(marks))


@pytest.mark.parametrize(
    ("reason", "state", "why", "staged"),
    [
        # After a restart the staging job that waits is used; one that
        # failed is made again.
        ("JobHeldUser", "PENDING", "None", 0),
        ("DependencyNeverSatisfied", "FAILED", "NonZeroExitCode", 1),
    ],
)
def test_staging_jobs_that_are_there_are_used_unless_they_failed(
    reason, state, why, staged
):
    first = Recorded([held(1, "f0")])
    (done,) = placer(first).place()
    mark = next(w for w in first.told if w[0] == "sbatch")[7].partition("=")[2]
    staging = {"job_id": 101, "job_state": state, "state_reason": why, "comment": mark}
    again = Recorded([held(1, "f0", reason=reason), staging])
    (placed,) = placer(again).place()
    assert (placed.node, placed.staging) == (done.node, (101,) * staged)
    assert [words[0] for words in again.told].count("sbatch") == staged


def test_an_id_that_would_be_an_option_is_refused():
    with pytest.raises(UsageError, match="'-rf' begins with '-'"):
        SlurmPlacer(SITE | {"files": [{"id": "-rf", "bytes": 1}]}, "stage {file}")


def test_a_dry_run_prints_and_changes_nothing():
    slurm, said = Recorded([held(1, "f0")]), []
    placer(slurm, dry_run=True, say=said.append).place()
    assert slurm.told == []
    assert [line.split()[0] for line in said] == ["sbatch", "scontrol", "scontrol"]


def waiting(number, node, reason, *inputs):
    """A job that was released for *node* and waits."""
    return held(number, *inputs, reason=reason) | {
        "required_nodes": node,
        "dependency": "afterok:7",
    }


@pytest.mark.parametrize(
    "reason", ["ReqNodeNotAvail", "ReqNodeNotAvail, UnavailableNodes:n0", "NodeDown"]
)
def test_jobs_of_a_node_that_slurm_cannot_use_get_another(reason):
    """Job 1 waits for n0, job 2 for its turn after job 1; job 3 waits for a
    busy n1, job 4 is new.
    """
    slurm = Recorded(
        [
            waiting(1, "n0", reason, "f0"),
            waiting(2, "n0", "Dependency", "f1"),
            waiting(3, "n1", "Resources", "f2"),
            held(4, "f3"),
        ]
    )
    placed = placer(slurm).place()
    assert sorted(done.job for done in placed) == [1, 2, 4]
    assert "n0" not in {done.node for done in placed}
    for done in placed:
        update = next(
            w
            for w in slurm.told
            if w[:3] == ["scontrol", "update", f"JobId={done.job}"]
        )
        assert f"ReqNodeList={done.node}" in update and "afterok:7" not in update[-1]


def test_a_job_that_waits_for_nothing_any_more_loses_its_dependency():
    """Its file lies on n1 already, and n0, n2, n3 cannot be used."""
    gone = [waiting(k, f"n{k}", "NodeDown", "f0") for k in (0, 2, 3)]
    site = SITE | {"nodes": [NODES[0], NODES[1] | {"holds": ["f0"]}, *NODES[2:]]}
    slurm = Recorded(gone)
    SlurmPlacer(site, "stage {file}", solver="minmin", runner=slurm).place()
    first = next(w for w in slurm.told if w[1] == "update")
    assert first[3:] == ["ReqNodeList=n1", "Dependency="]
    assert not any(w[0] == "sbatch" for w in slurm.told)


def test_jobs_stay_held_while_no_node_can_be_used_and_go_when_one_can():
    down = [waiting(k + 1, f"n{k}", "ReqNodeNotAvail") for k in range(4)]
    slurm = Recorded([*down, held(9, "f0")])
    made = placer(slurm)
    assert made.place() == [] and slurm.told == []
    down[2]["state_reason"] = "Priority"  # Slurm can use n2 again
    placed = made.place()
    assert sorted(done.job for done in placed) == [1, 2, 4, 9]
    assert {done.node for done in placed} == {"n2"}


@pytest.mark.parametrize(
    "comment",
    [
        'ioopt:{"input": 3}',
        "ioopt:{",
        'ioopt:{"inputs": ["no"]}',
        'ioopt:{"inputs": [["f0"]]}',
        'ioopt:{"inputs": ["f0"], "compute_seconds": -1}',
        'ioopt-stage:{"file": 3}',
        "ioopt-stage:[]",
    ],
)
def test_a_wrong_comment_names_the_job_and_holds_up_no_other(comment):
    said, slurm = [], Recorded([held(9, "f0") | {"comment": comment}, held(10, "f0")])
    assert [done.job for done in placer(slurm, say=said.append).place()] == [10]
    assert len(said) == 1 and "comment of job 9" in said[0]


def test_missing_programs_and_files_are_one_line(tmp_path, capsys):
    with pytest.raises(BackendMissingError, match="slurm-wlm"):
        run_command(["no-such-slurm-command"])
    assert main([str(tmp_path / "absent.json"), "--stage", "true"]) == 2
    (tmp_path / "site.json").write_text("{}")
    assert main([str(tmp_path / "site.json"), "--stage", "true"]) == 2
    assert "network: missing" in capsys.readouterr().err


CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={base}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool-%n
SlurmctldPidFile={dir}/ctld.pid
SlurmdPidFile={dir}/%n.pid
SlurmctldLogFile={dir}/ctld.log
SlurmdLogFile={dir}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0
ReturnToService=2
MinJobAge=3600
NodeName=n[0-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1 \\
  State=UNKNOWN
PartitionName=main Nodes=n[0-3] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def _free_ports(count):
    """The first of *count* ports in a row that nobody listens on (nor is
    given out to clients).
    """
    for base in random.sample(range(20_000, 32_000, count), 200):
        with contextlib.ExitStack() as held:
            try:
                for port in range(base, base + count):
                    held.enter_context(socket.socket()).bind(("", port))
            except OSError:
                continue
            return base
    raise AssertionError("no free ports")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A controller and four node daemons on loopback; stopped at the end."""
    if shutil.which("slurmctld") is None or shutil.which("slurmd") is None:
        pytest.skip("no Slurm here (Debian: slurm-wlm)")
    if os.geteuid() != 0:
        pytest.skip("a Slurm cluster of this test's own needs root")
    base = _free_ports(5)
    (tmp_path / "state").mkdir()
    for k in range(4):
        (tmp_path / f"spool-n{k}").mkdir()
    host = socket.gethostname().partition(".")[0]
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        CONF.format(host=host, dir=tmp_path, base=base, first=base + 1, last=base + 4)
    )
    monkeypatch.setenv("SLURM_CONF", str(conf))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    daemons = [subprocess.Popen(["slurmctld", "-D"], **quiet)]
    daemons += [
        subprocess.Popen(["slurmd", "-D", "-N", f"n{k}"], **quiet) for k in range(4)
    ]
    try:
        _until(lambda: _words("sinfo", "-h", "-t", "idle", "-o", "%D") == ["4"])
        yield tmp_path
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(timeout=60)


def _words(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.split()


def _until(true, tries=480):
    """Ask twice a second until *true*; the cluster has no other way to tell."""
    pause = threading.Event()
    for _ in range(tries):
        if true():
            return
        pause.wait(0.5)
    raise AssertionError("the cluster did not get there")


def _jobs():
    return {
        job["job_id"]: job
        for job in json.loads(run_command(["squeue", "--json"]))["jobs"]
    }


@pytest.mark.slow
def test_a_failed_staging_job_does_not_hold_its_job_for_ever(cluster):
    comment = "ioopt:" + json.dumps({"inputs": ["f0"], "compute_seconds": 1})
    (number,) = _words(
        "sbatch",
        "--parsable",
        "--hold",
        f"--comment={comment}",
        "--output=/dev/null",
        f"--wrap=test -e {cluster}/f0",
    )
    site = SITE | {"nodes": [{"id": f"n{k}"} for k in range(4)]}
    SlurmPlacer(site, "false", solver="minmin").place()
    _until(lambda: _jobs()[int(number)]["state_reason"] == "DependencyNeverSatisfied")
    assert (
        len(SlurmPlacer(site, f"touch {cluster}/{{file}}", solver="minmin").place())
        == 1
    )
    _until(lambda: _jobs()[int(number)]["job_state"] == "COMPLETED")


@pytest.mark.slow
def test_twenty_jobs_run_where_planned_with_their_inputs_there(cluster):
    disks = cluster / "disks"
    for k in range(4):
        (disks / f"n{k}").mkdir(parents=True)
    jobs = {}
    for k in range(20):
        inputs = [f"f{k % 6}", f"f{(k + 1) % 6}"]
        test = " && ".join(
            f"test -e {disks}/$SLURMD_NODENAME/{name}" for name in inputs
        )
        comment = "ioopt:" + json.dumps({"inputs": inputs, "compute_seconds": 1})
        (number,) = _words(
            "sbatch",
            "--parsable",
            "--hold",
            f"--comment={comment}",
            "--output=/dev/null",
            f"--wrap={test}",
        )
        jobs[int(number)] = inputs
    site = SITE | {"nodes": [{"id": f"n{k}"} for k in range(4)]}
    placed = SlurmPlacer(
        site, f"touch {disks}/{{node}}/{{file}}", solver="minmin"
    ).place()
    assert sorted(p.job for p in placed) == sorted(jobs)
    assert len({p.node for p in placed}) > 1

    going = ("PENDING", "RUNNING", "COMPLETING")
    _until(lambda: all(_jobs()[number]["job_state"] not in going for number in jobs))
    ended = {
        number: (job["job_state"], job["nodes"]) for number, job in _jobs().items()
    }
    assert ended.items() >= {p.job: ("COMPLETED", p.node) for p in placed}.items()
