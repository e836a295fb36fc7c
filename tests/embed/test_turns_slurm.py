"""The recipe of docs/io-turns.md on a Slurm of four nodes on this machine."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

SAMPLES = ROOT / "docs" / "samples"
PROGRAMS = ("munged", "slurmctld", "slurmd")
SEARCHED = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])
CONFIGURATION = """\
ClusterName=turns
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
Epilog={folder}/turn-release.sh
NodeName=n[1-4] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
"""
MACHINE = (
    '{"nodes": 4, "unit_nodes": 1, "allocation": "flat", '
    '"node_bytes_per_second": 1e9, "storage_bytes_per_second": 2e9}'
)
# The step copies for $2 seconds on $1 nodes.
JOB = """\
#!/bin/sh
export IO_BYTES=8000000000 IO_NODES=$1
srun -N"$IO_NODES" -n"$IO_NODES" --prolog={folder}/turn-acquire.sh \\
  --epilog={folder}/turn-release.sh \\
  sh -c "date +%s.%N > {folder}/begins.$SLURM_JOB_ID
         sleep $2; date +%s.%N > {folder}/ends.$SLURM_JOB_ID"
"""


def written(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def soon(what: str, seconds: float, true) -> None:
    """Wait until *true* returns a true value."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)


class Cluster:
    """A controller and four nodes, with the folder for turns and both scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": SEARCHED,
        }
        for name in ("state", "spool.n1", "spool.n2", "spool.n3", "spool.n4"):
            (folder / name).mkdir()
        self._configure()
        self.started: list[subprocess.Popen[bytes]] = []

    def _configure(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1] % 20000 + 20000
        names = {
            "folder": self.folder,
            "host": socket.gethostname().partition(".")[0],
            "user": getpass.getuser(),
            "port": port,
            "first": port + 1,
            "last": port + 4,
        }
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format_map(names))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o600)
        for name in ("turn-acquire.sh", "turn-release.sh"):
            text = (SAMPLES / name).read_text()
            text = text.replace("/opt/ioopt/bin/python", sys.executable)
            text = text.replace("/opt/ioopt", str(SAMPLES))
            text = text.replace("/shared/turns", f"{self.folder}/turns")
            written(self.folder / name, text)
        written(self.folder / "job.sh", JOB.format(folder=self.folder))
        self.turns.mkdir()
        self.turns.chmod(0o1777)
        (self.turns / "lock").touch()
        (self.turns / "machine.json").write_text(MACHINE)

    @property
    def turns(self) -> Path:
        return self.folder / "turns"

    def start(self) -> None:
        own = ("munge.socket", "munge.key", "munge.pid", "munge.log", "munge.seed")
        options = ("--socket", "--key-file", "--pid-file", "--log-file", "--seed-file")
        paths = [f"{name}={self.folder / path}" for name, path in zip(options, own)]
        self._daemon("munged", "-F", "-f", *paths)
        soon("munged", 10, (self.folder / "munge.socket").exists)
        self._daemon("slurmctld", "-D", "-c")
        for node in range(1, 5):
            self._daemon("slurmd", "-D", "-N", f"n{node}")
        soon(
            "four idle nodes", 30, lambda: self.run("sinfo -ho %T").split() == ["idle"]
        )

    def _daemon(self, *words: str) -> None:
        log = (self.folder / "daemons.log").open("ab")
        self.started.append(
            subprocess.Popen(words, stdout=log, stderr=log, env=self.environment)
        )

    def stop(self) -> None:
        for process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def run(self, words: str) -> str:
        done = subprocess.run(
            words.split(),
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def submit(self, nodes: int, seconds: float) -> str:
        job = self.run(
            f"sbatch --parsable -o %j.out -N{nodes} job.sh {nodes} {seconds}"
        )
        assert job.isdigit()
        return job

    def tickets(self) -> set[str]:
        return {path.stem for path in self.turns.glob("[0-9]*.*[0-9]")}

    def time(self, what: str, job: str) -> float:
        path = self.folder / f"{what}.{job}"
        soon(path.name, 40, lambda: path.exists() and path.read_text().strip())
        return float(path.read_text())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if not all(shutil.which(name, path=SEARCHED) for name in PROGRAMS):
        pytest.skip("no slurmctld, slurmd or munged (Debian: slurm-wlm, munge)")
    # The path of a socket must be short.
    folder = Path("/tmp") / f"turns-{os.getpid()}"
    folder.mkdir(mode=0o755)
    made = Cluster(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_turns_pass_on_when_a_job_is_cancelled_amid_its_own(cluster):
    """The storage is as fast as two nodes. The first job has all of it and is
    cancelled; a job that waits is cancelled too; the others go on in their order.
    """
    first = cluster.submit(2, 600)
    cluster.time("begins", first)
    small = cluster.submit(1, 1)
    soon("a second ticket", 20, lambda: cluster.tickets() == {first, small})
    lost = cluster.submit(1, 1)
    soon("a third ticket", 20, lambda: cluster.tickets() == {first, small, lost})
    cluster.run(f"scancel {lost}")
    soon("its ticket gone", 40, lambda: cluster.tickets() == {first, small})
    wide = cluster.submit(2, 1)
    soon("a last ticket", 20, lambda: cluster.tickets() == {first, small, wide})
    assert not list(cluster.folder.glob(f"begins.{small}"))
    cluster.run(f"scancel {first}")
    assert cluster.time("ends", small) <= cluster.time("begins", wide)
    cluster.time("ends", wide)
    soon("all turns given back", 20, lambda: not cluster.tickets())
    said = (cluster.folder / f"{small}.out").read_text()
    assert f"job {small} waits for its turn" in said and f"after {first}" in said
    assert not list(cluster.folder.glob(f"*.{lost}"))
    # A code of an epilog other than 0 would have drained a node.
    soon("idle nodes", 20, lambda: cluster.run("sinfo -ho %T").split() == ["idle"])
