"""Plan, place, stage and release held Slurm jobs that name their inputs.

A user submits ``sbatch --hold --comment='ioopt:{"inputs": ["a"], "compute_seconds":
60}' ...``. :class:`SlurmPlacer` reads the held jobs (``squeue --json``) and plans them
with :class:`ioopt.embed.ReplicationPlanner`. It submits one staging job for each file
and node. It gives each job its node (``ReqNodeList``) and a dependency on its staging
jobs and on the job before it in the node's queue, so that Slurm keeps the order of the
plan. Then it releases the job.

The placer stores no state, so it may be stopped and started at any time. A job that is
still held, or whose staging has failed, counts as not placed. A staging job is
recognised by its comment. A job that waits for a node which Slurm cannot use gets
another node, and the unusable node gets no job in the same run. With ``dry_run`` the
commands are printed and nothing is changed. Written for Slurm 22.05.
"""

import contextlib
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ioopt.embed.replication import ReplicationPlanner, Step
from ioopt.errors import (
    BackendFailureError,
    BackendMissingError,
    InstanceError,
    UsageError,
)
from ioopt.formats.native import parse_json, reading, validate
from ioopt.problems.base import Json
from ioopt.problems.replication import Task

JOB_MARK = "ioopt:"
STAGE_MARK = "ioopt-stage:"
ENDED = frozenset(
    {
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
    }
)
UNUSABLE = ("ReqNodeNotAvail", "NodeDown", "ReservedForMaintenance")
"""The reasons that Slurm states for jobs that wait for a node which is down, drained or
reserved.
"""

COMMAND_SECONDS = 120.0
"""The number of seconds after which a Slurm command counts as failed. Slurm's own
timeout is shorter.
"""

Runner = Callable[[Sequence[str]], str]
"""A function that runs a command and returns its standard output."""


def run_command(words: Sequence[str]) -> str:
    """Run a Slurm command, given as its *words*, and return its output.

    Raises BackendMissingError when the command is not installed, and
    BackendFailureError when it fails.
    """
    command = shlex.join(words)
    limit = COMMAND_SECONDS
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        raise BackendFailureError(f"{command}: no answer within {limit:g} s") from None
    except FileNotFoundError:
        raise BackendMissingError(
            f"{words[0]} is not installed (Debian: slurm-wlm)"
        ) from None
    if done.returncode != 0:
        text = " ".join((done.stderr or done.stdout).split())
        raise BackendFailureError(f"{command}: {text or done.returncode}")
    return done.stdout


@dataclass(frozen=True)
class Placement:
    """A job, the node on which it was placed, and the ids of the staging jobs for which
    it waits.
    """

    job: int
    node: str
    staging: tuple[int, ...]


class SlurmPlacer:
    """Place held jobs on the nodes of a Slurm cluster.

    ``site`` has the keys ``network``, ``nodes`` (ids are Slurm's node names) and
    ``files`` of an ``ioopt/replication`` instance. ``stage`` is the shell command of a
    staging job, in which ``{file}``, ``{bytes}``, ``{node}`` and ``{source}`` (a node,
    or ``remote``) are filled in. Raises UsageError for an id that the command would
    take for an option, because it begins with ``-``.
    """

    def __init__(
        self,
        site: Json,
        stage: str,
        *,
        solver: str = "link-aware",
        dry_run: bool = False,
        runner: Runner = run_command,
        say: Callable[[str], None] = print,
    ) -> None:
        for named in (*site["files"], *site["nodes"]):
            if str(named["id"]).startswith("-"):
                raise UsageError(
                    f"id {named['id']!r} begins with '-': the staging command would "
                    "take it for an option; rename it, for example to ./-..."
                )
        self._sizes = {file["id"]: file["bytes"] for file in site["files"]}
        self._plan = partial(
            ReplicationPlanner, site["network"], files=site["files"], solver=solver
        )
        self._planner = self._plan(nodes=site["nodes"])
        self._site_nodes = site["nodes"]
        self._ids = {node["id"] for node in site["nodes"]}
        self._nodes: list[str] = []
        self._stage = stage
        self._dry_run = dry_run
        self._run = runner
        self._say = say
        self._last: dict[str, int] = {}
        self._depending: set[int] = set()
        self._dry_id = 0

    def place(self, deadline: float | None = 10.0) -> list[Placement]:
        """Plan all held jobs that name inputs; place and release each of them. Return
        the placements.

        *deadline*, in seconds, is for the plan. A job that cannot be placed stays held,
        and a later call tries again. Raises BackendFailureError when the queue cannot
        be read.
        """
        jobs = self._queue()
        unusable = _unusable_nodes(jobs)
        nodes = [node for node in self._site_nodes if node["id"] not in unusable]
        self._nodes = [node["id"] for node in nodes]
        self._planner = self._plan(nodes=nodes)
        staged = self._staging(jobs)
        self._depending = {int(job["job_id"]) for job in jobs if job.get("dependency")}
        tasks = []
        for job in jobs:
            with self._told(f"job {job['job_id']} stays held"):
                task = self._task(job)
                if task is not None:
                    tasks.append(task)
        if not tasks or not nodes:
            return []
        self._planner.submit(tasks, deadline=deadline)
        placed = []
        for node in self._nodes:
            while (step := self._planner.next(node)) is not None:
                stayed: tuple[str, ...] | None = ()
                with self._told(f"job {step.task} stays held"):
                    placed.append(self._place_one(node, step, staged))
                    stayed = None
                self._planner.completed(step.task, stayed)
        return placed

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Report an error that occurs inside the block, with its consequence *what*,
        and continue.
        """
        try:
            yield
        except (InstanceError, BackendFailureError, OSError, ValueError) as error:
            self._say(f"ioopt: {what}: {error}")

    def _queue(self) -> list[Json]:
        listing = parse_json(self._run(["squeue", "--json"]), "squeue --json")
        with reading("squeue --json"):
            jobs: dict[int, Json] = {int(job["job_id"]): job for job in listing["jobs"]}
            return [jobs[number] for number in sorted(jobs)]

    def _staging(self, jobs: Iterable[Json]) -> dict[tuple[str, str], int]:
        """Return the ids of the staging jobs that have not failed, keyed by (file,
        node).

        The planner is told that the files of these jobs are on their nodes already.
        """
        found: dict[tuple[str, str], int] = {}
        for job in jobs:
            comment = job.get("comment") or ""
            if not comment.startswith(STAGE_MARK) or job["job_state"] in ENDED:
                continue
            where = f"comment of job {job['job_id']}"
            with self._told("a staging job is not counted"), reading(where):
                told = parse_json(comment[len(STAGE_MARK) :], where)
                file = told["file"]
                node = told["node"]
                if file in self._sizes and node in self._nodes:
                    self._planner.staged(node, file)
                found[file, node] = int(job["job_id"])
        return found

    def _task(self, job: Json) -> Task | None:
        """Return the task that stands for *job* if the job is to be placed; otherwise
        None.

        A job is to be placed if it names its inputs and one of these is true: it is
        held, its staging has failed, or its node cannot be used.
        """
        comment = job.get("comment") or ""
        if job["job_state"] != "PENDING" or not comment.startswith(JOB_MARK):
            return None
        waits = str(job["state_reason"]).startswith(
            ("JobHeld", "DependencyNeverSatisfied")
        )
        node = job.get("required_nodes")
        stranded = bool(node) and node in self._ids and node not in self._nodes
        if not waits and not stranded:
            return None
        where = f"comment of job {job['job_id']}"
        told = parse_json(comment[len(JOB_MARK) :], where)
        if not isinstance(told, dict) or not isinstance(told.get("inputs"), list):
            raise InstanceError(
                f'{where}: wanted {{"inputs": [...]}}, not {comment!r:.60}'
            )
        seconds = told.get("compute_seconds", 0)
        given = {
            "id": str(job["job_id"]),
            "compute_seconds": seconds,
            "inputs": told["inputs"],
        }
        task: Task = validate(Task, given, where)
        for name in task.inputs:
            if name not in self._sizes:
                raise InstanceError(f"{where}: {name!r:.60} is not a file of the site")
        return task

    def _place_one(
        self, node: str, step: Step, staged: dict[tuple[str, str], int]
    ) -> Placement:
        """Submit staging jobs for missing files, give the job of *step* its node and
        its dependencies, and release the job.
        """
        waits = []
        for file, source in step.stage:
            if (file, node) not in staged:
                staged[file, node] = self._submit_staging(file, node, source, staged)
            waits.append(staged[file, node])
        job = int(step.task)
        before = self._last.get(node)
        conditions = [f"afterok:{number}" for number in waits]
        if before is not None:
            conditions.append(f"afterany:{before}")
        words = ["scontrol", "update", f"JobId={job}", f"ReqNodeList={node}"]
        if conditions or job in self._depending:
            words.append(f"Dependency={','.join(conditions)}")
        self._change(words)
        self._change(["scontrol", "release", str(job)])
        self._last[node] = job
        return Placement(job, node, tuple(waits))

    def _submit_staging(
        self,
        file: str,
        node: str,
        source: str | None,
        staged: Mapping[tuple[str, str], int],
    ) -> int:
        """Submit a staging job that copies *file* from *source* to *node*, and return
        its id.

        If the file is still being staged to the source, the new job waits for that
        staging job.
        """
        command = self._stage.format(
            file=shlex.quote(file),
            bytes=self._sizes[file],
            node=shlex.quote(node),
            source=shlex.quote(source or "remote"),
        )
        mark = STAGE_MARK + json.dumps({"file": file, "node": node})
        words = [
            "sbatch",
            "--parsable",
            f"--nodelist={node}",
            "--ntasks=1",
            "--output=/dev/null",
            "--kill-on-invalid-dep=yes",
            f"--job-name=stage-{file}",
            f"--comment={mark}",
        ]
        if source is not None and (file, source) in staged:
            words.append(f"--dependency=afterok:{staged[file, source]}")
        answer = self._change([*words, f"--wrap={command}"])
        if self._dry_run:
            self._dry_id -= 1
            return self._dry_id
        return int(answer.split(";")[0])

    def _change(self, words: Sequence[str]) -> str:
        if self._dry_run:
            self._say(shlex.join(words))
            return ""
        return self._run(words)


def _unusable_nodes(jobs: Iterable[Json]) -> set[str]:
    """Return the nodes that Slurm cannot use, according to the reasons that it states
    for waiting jobs.
    """
    nodes = set()
    for job in jobs:
        waits = job["job_state"] == "PENDING" and job.get("required_nodes")
        if waits and str(job["state_reason"]).startswith(UNUSABLE):
            nodes.add(str(job["required_nodes"]))
    return nodes


def main(arguments: Sequence[str] | None = None) -> int:
    """Place jobs once: ``python -m ioopt.embed.adapters.slurm SITE.json --stage
    CMD``.
    """
    import argparse

    from ioopt.errors import IooptError
    from ioopt.formats.native import read_json

    parser = argparse.ArgumentParser(
        prog="ioopt.embed.adapters.slurm", description=main.__doc__
    )
    parser.add_argument("site", help="JSON with network, nodes and files")
    parser.add_argument(
        "--stage", required=True, help="command with {file} {bytes} {node} {source}"
    )
    parser.add_argument("--solver", default="link-aware")
    parser.add_argument(
        "--time-limit", type=float, default=10.0, help="seconds for the plan"
    )
    parser.add_argument("--deadline", help=argparse.SUPPRESS)
    parser.add_argument(
        "--dry-run", action="store_true", help="print the commands only"
    )
    given = parser.parse_args(arguments)
    if given.deadline is not None:
        parser.error("--deadline is now --time-limit")
    try:
        site = read_json(given.site)
        missing = [key for key in ("network", "nodes", "files") if key not in site]
        if missing:
            raise UsageError(f"{given.site}: {missing[0]}: missing")
        placer = SlurmPlacer(
            site, given.stage, solver=given.solver, dry_run=given.dry_run
        )
        for placement in placer.place(given.time_limit):
            print(f"job {placement.job} on {placement.node}", file=sys.stderr)
    except IooptError as error:
        print(f"ioopt: {error}", file=sys.stderr)
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
