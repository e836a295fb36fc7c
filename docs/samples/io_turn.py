"""Turns on a file system: ``io_turn.py acquire FOLDER ID NODES BYTES``, ``io_turn.py release FOLDER ID``.

FOLDER is one that all nodes see, with locks: ``machine.json`` there is the ``machine`` of a batch-io
instance; the token file ``turns.json`` is the state of an arbiter, made by the first call.
"""

import fcntl
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioopt.embed import IoArbiter

POLL_SECONDS = 0.2


@contextmanager
def tokens(folder: Path) -> Iterator[IoArbiter]:
    """The arbiter of the token file, which nobody else reads or writes meanwhile."""
    with open(folder / "turns.json", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # gone with this process, however it ends
        file.seek(0)
        text = file.read()
        if text:
            arbiter = IoArbiter.restore(json.loads(text))
        else:
            machine = json.loads((folder / "machine.json").read_text())
            arbiter = IoArbiter(machine, "cons-fcfs", {"preempt": False})
        yield arbiter
        text = json.dumps(arbiter.state())
        file.truncate(0)
        file.write(text)


def acquire(folder: Path, job: str, nodes: int, size: float) -> float:
    """Wait for the turn of *job*; its bytes per second."""
    while True:
        with tokens(folder) as arbiter:
            now = time.time()
            if job not in arbiter.decide(now):
                arbiter.request(job, nodes, size, now)
            rate = arbiter.decide(now)[job]
            if rate > 0:
                arbiter.progress(job, 1.0)  # it has begun, and is not stopped for others
                return rate
        time.sleep(POLL_SECONDS)


def release(folder: Path, job: str) -> None:
    """Give the turn of *job* back; nothing where it has none, so that an epilog may repeat it."""
    with tokens(folder) as arbiter:
        if job in arbiter.decide(time.time()):
            arbiter.finish(job)


if __name__ == "__main__":
    what, place, name, *more = sys.argv[1:]
    if what == "acquire":
        print(acquire(Path(place), name, int(more[0]), float(more[1])))
    else:
        release(Path(place), name)
