"""Turns on a file system: ``io_turn.py acquire FOLDER ID NODES BYTES``,
``io_turn.py release FOLDER ID``.

FOLDER is one that all nodes see, with locks: ``machine.json`` there is the
``machine`` of a batch-io instance; the token file ``turns.json`` is the state of an
arbiter, made by the first call.
"""

import fcntl
import json
import sys
import time
from pathlib import Path

from ioopt.embed import IoArbiter

POLL_SECONDS = 0.2


def turn(what: str, folder: Path, job: str, nodes: int, size: float) -> float:
    """Ask once for the turn of *job*, or give it back; its bytes per second, 0
    where it has to wait.
    """
    with open(folder / "turns.json", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # gone with this process, however it ends
        file.seek(0)
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
        file.truncate(0)
        file.write(json.dumps(arbiter.state()))
    return rate


if __name__ == "__main__":
    what, folder, job, nodes, size = (*sys.argv[1:], "1", "0")[:5]
    asked = what, Path(folder), job, int(nodes), float(size)
    while not (rate := turn(*asked)) and what == "acquire":
        time.sleep(POLL_SECONDS)
    if what == "acquire":
        print(rate)
