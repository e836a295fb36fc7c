"""Turns on a file system: ``io_turn.py acquire FOLDER ID NODES BYTES``,
``io_turn.py release FOLDER ID``.

FOLDER is one that all nodes see, with locks: ``machine.json`` there is the
``machine`` of a batch-io instance; the token file ``turns.json`` is the state of an
arbiter, made by the first call.
"""

import argparse
import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import TextIO

from ioopt.embed import IoArbiter
from ioopt.errors import IooptError

POLL_SECONDS = 0.2
TELL_SECONDS = 60.0
"""A job that waits says so on standard error once, and again after so long."""


def shared(path: Path) -> TextIO:
    """Open the token file, which every user may write; make it if it is missing."""
    try:
        # Without O_CREAT: folders like /tmp refuse it for a file of another user.
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        os.fchmod(handle, 0o666)
    return os.fdopen(handle, "r+")


def turn(what: str, folder: Path, job: str, nodes: int, size: float) -> float:
    """Ask once for the turn of *job*, or give it back; its bytes per second, 0
    where it has to wait.
    """
    with shared(folder / "turns.json") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # gone with this process, however it ends
        if text := file.read():
            arbiter = IoArbiter.restore(json.loads(text))
        else:
            machine = json.loads((folder / "machine.json").read_text())
            arbiter = IoArbiter(machine, "cons-fcfs", {"preempt": False})
        now, rate = time.time(), 0.0
        known = job in arbiter.decide(now)
        if what == "release" and known:  # an epilog may repeat it
            arbiter.finish(job)
        if what == "acquire":
            if not known:
                arbiter.request(job, nodes, size, now)
            rate = arbiter.decide(now)[job]
            if rate > 0:
                arbiter.progress(
                    job, 1.0
                )  # it has begun, and is not stopped for others
        file.seek(0)
        file.truncate()
        file.write(json.dumps(arbiter.state()))
    return rate


def waited(asked: tuple[str, Path, str, int, float], most: float) -> float:
    """Wait for the turn of a job, and return its rate.

    Raise TimeoutError after *most* seconds; the request is then taken back.
    """
    began = told = time.monotonic()
    while not (rate := turn(*asked)):
        now = time.monotonic()
        if now - began >= most:
            turn("release", *asked[1:])
            raise TimeoutError(f"no turn within {most:g} s; is one not given back?")
        if told == began or now - told >= TELL_SECONDS:
            said = f"job {asked[2]} waits for its turn, {now - began:.0f} s so far"
            print(f"io_turn.py: {said}", file=sys.stderr, flush=True)
            told = now
        time.sleep(POLL_SECONDS)
    return rate


def main(
    what: str,
    folder: str,
    job: str,
    nodes: str = "1",
    size: str = "0",
    max_wait: float = 3600.0,
) -> None:
    """Wait for the turn of *job* and print its rate, or give the turn back.

    A job that cannot take part, because the machine or its bytes are wrong or no turn
    came within *max_wait* seconds, goes on without a turn: its I/O is never held up by
    a mistake.
    """
    try:
        asked = what, Path(folder), job, int(nodes), float(size)
        if what == "acquire":
            print(waited(asked, max_wait))
        else:
            turn(*asked)
    except (IooptError, ValueError, OSError) as error:
        print(f"io_turn.py: job {job} goes on without a turn: {error}", file=sys.stderr)


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("acquire", "release"))
    parser.add_argument("folder", help="a folder that all nodes see")
    parser.add_argument("job", help="the id of the job, such as $SLURM_JOB_ID")
    parser.add_argument("nodes", nargs="?", default="1", help="nodes of the job")
    parser.add_argument("size", nargs="?", default="0", help="bytes of the step")
    parser.add_argument(
        "--max-wait",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="go on without a turn after so long (default %(default)s)",
    )
    return parser


if __name__ == "__main__":
    main(**vars(arguments().parse_args()))
