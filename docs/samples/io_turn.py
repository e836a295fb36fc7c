"""Turns on a file system.

``io_turn.py acquire FOLDER JOB NODES BYTES`` waits for the turn of a job,
``io_turn.py release FOLDER JOB`` gives it back, and ``io_turn.py status FOLDER`` lists
who transfers and who waits.

FOLDER is one that all nodes see, with locks. ``machine.json`` there is the ``machine``
of a batch-io instance, and ``lock`` an empty file that everybody may write. A request
is a ticket: the file JOB.UID, which belongs to the user who asks. With mode 1777 of the
folder nobody can change or remove the ticket of another user. If ``machine.json`` has
``least_bytes``, steps of less bytes go on at once, without a ticket.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

try:
    from ioopt.embed import IoArbiter
    from ioopt.errors import IooptError, UsageError
    from ioopt.tables import render
    from ioopt.units import parse_bytes, quantity
except ImportError as error:
    sys.exit(
        f"io_turn.py: {sys.executable} has no ioopt ({error}): go on without a turn; "
        "run this with the Python of the environment of ioopt"
    )

POLL_SECONDS = 0.2
POLL_SECONDS_A_TICKET = 0.02
"""Who waits looks this often at least, and less often beside many tickets."""
TELL_SECONDS = 60.0
"""A job that waits says so on standard error once, and again after so long."""
SILENT_SECONDS = 60.0
"""A waiting job renews its ticket at each look; one so old is of a dead job."""
LAPSE_FACTOR = 3.0
LAPSE_SECONDS = 30.0
"""A turn lapses after this many times the time that its bytes take, and not before this
time, in which srun starts the step. Others then no longer wait for it. A transfer that
still runs is not stopped: it shares the storage with the next one.
"""
MOST_BYTES = 4096
"""No ticket is longer."""
NUMBERS = ("size", "asked", "seen", "begun", "rate")
WAITS, TRANSFERS, SILENT, LAPSED = "waits", "transfers", "silent", "lapsed"


@dataclass(frozen=True)
class Ticket:
    """A request: its size in bytes, the times (seconds) when it was made, when the
    ticket was last renewed and when the transfer began (0: it waits), and its rate in
    bytes per second.
    """

    name: str
    nodes: int
    size: float
    asked: float
    seen: float
    begun: float = 0.0
    rate: float = 0.0

    @classmethod
    def read(cls, path: Path) -> Ticket | None:
        """Return the ticket *path*; None if it is none, or not of the user whom its
        name says.
        """
        # The file is of any user: neither follow a link nor wait at a pipe.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with open(os.open(path, flags), "rb") as file:
                about = os.fstat(file.fileno())
                owner = path.name.rpartition(".")[2]
                if not stat.S_ISREG(about.st_mode) or owner != str(about.st_uid):
                    return None
                found = json.loads(file.read(MOST_BYTES))
            numbers = [float(found[key]) for key in NUMBERS]
            if not all(math.isfinite(number) for number in numbers):
                return None
            return cls(path.name, int(found["nodes"]), *numbers)
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return None

    def write(self, folder: Path) -> None:
        """Write the ticket, or replace it.

        A new name in the folder also makes a client of NFS read the folder anew.
        """
        new = folder / f"{self.name}.new"
        new.unlink(missing_ok=True)
        keys = ("nodes", *NUMBERS)
        with open(new, "x") as file:
            file.write(json.dumps({key: getattr(self, key) for key in keys}))
        new.chmod(0o644)
        new.replace(folder / self.name)

    def lapses(self) -> float:
        """Return the time in seconds at which the turn lapses."""
        return self.begun + max(LAPSE_SECONDS, LAPSE_FACTOR * self.size / self.rate)

    def state(self, now: float) -> str:
        """Return what the request does at the time *now*."""
        if self.begun > 0 and self.rate > 0:
            return TRANSFERS if now < self.lapses() else LAPSED
        return WAITS if now < self.seen + SILENT_SECONDS else SILENT


def tickets(folder: Path) -> list[Ticket]:
    """Return the tickets in *folder*, by the time of the request."""
    found = [Ticket.read(path) for path in folder.glob("*.*[0-9]")]
    known = [ticket for ticket in found if ticket is not None]
    return sorted(known, key=lambda ticket: (ticket.asked, ticket.name))


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Take the lock of *folder*, and tell whether it was free."""
    # Without O_CREAT: folders with mode 1777 refuse it for a file of another user.
    with open(os.open(folder / "lock", os.O_RDWR), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True  # and free again with this process, however it ends


def arbiter_of(folder: Path) -> tuple[IoArbiter, float]:
    """Return the arbiter of the machine of *folder*, without requests, and the least
    number of bytes of a step that needs a turn.

    It runs the policy ``turns``: first come, first served; who fits beside those that
    transfer may begin, and nobody is stopped.
    """
    machine = json.loads((folder / "machine.json").read_text())
    least = machine.pop("least_bytes", 0) if isinstance(machine, dict) else 0
    return IoArbiter(machine, "turns", {"least_bytes": least}), float(least)


def rates(folder: Path, found: list[Ticket], now: float) -> dict[int | str, float]:
    """Return the rates of the requests *found* that take part at the time *now*, in
    bytes per second; 0 for those that have to wait.
    """
    arbiter, _ = arbiter_of(folder)
    for ticket in found:
        state = ticket.state(now)
        if state not in (WAITS, TRANSFERS):
            continue
        try:
            arbiter.request(ticket.name, ticket.nodes, ticket.size, ticket.asked)
            if state == TRANSFERS:  # it has begun, and is not stopped for others
                arbiter.progress(ticket.name, 1.0)
        except IooptError:
            continue  # somebody wrote nonsense into a ticket
    return arbiter.decide(now)


def acquire(folder: Path, job: str, nodes: int, size: int, max_wait: float) -> float:
    """Wait for the turn of *job*, and return its rate in bytes per second. A step that
    needs no turn has the rate that it would have alone.

    Raise TimeoutError after *max_wait* seconds; the ticket is then taken back.
    """
    if size < 1:
        raise UsageError(f"{size} bytes need no turn")
    now, began = time.time(), time.monotonic()
    mine = Ticket(ticket_name(job), nodes, size, asked=now, seen=now)
    arbiter, least = arbiter_of(folder)
    arbiter.request(mine.name, nodes, size, now)  # raises if it is wrong
    if size < least:  # the policy lets it begin, whoever transfers
        return arbiter.decide(now)[mine.name]
    told: float | None = None
    while True:
        found = []
        with locked(folder) as free:
            if free:
                now = time.time()
                mine = replace(mine, seen=now)
                mine.write(folder)
                found = tickets(folder)
                if rate := rates(folder, found, now)[mine.name]:
                    replace(mine, begun=now, rate=rate).write(folder)
                    return rate
        waited = time.monotonic() - began
        if waited >= max_wait:
            release(folder, job)
            raise TimeoutError(f"no turn within {max_wait:g} s; see io_turn.py status")
        if told is None or waited - told >= TELL_SECONDS:
            told = waited
            holders = [one.name for one in found if one.state(now) == TRANSFERS]
            after = ", ".join(name.rpartition(".")[0] for name in holders)
            say(f"job {job} waits for its turn ({waited:.0f} s so far), after {after}")
        time.sleep(max(POLL_SECONDS, POLL_SECONDS_A_TICKET * len(found)))


def ticket_name(job: str) -> str:
    """Return the name of the ticket of *job* for this user."""
    if not job or "/" in job or job.startswith("."):
        raise UsageError(f"job id {job!r}: give one like $SLURM_JOB_ID")
    return f"{job}.{os.getuid()}"


def release(folder: Path, job: str) -> None:
    """Give the turn of *job* back, or take its request back; an epilog may repeat
    it.
    """
    (folder / ticket_name(job)).unlink(missing_ok=True)


def status(folder: Path) -> str:
    """Return a table of the tickets in *folder*, those that hold others up first."""
    now, rows = time.time(), []
    for ticket in tickets(folder):
        job, _, user = ticket.name.rpartition(".")
        state = ticket.state(now)
        since = ticket.begun if ticket.begun > 0 else ticket.asked
        needs = quantity("seconds", ticket.size / ticket.rate) if ticket.rate else "-"
        size = quantity("bytes", ticket.size)
        lapses = "-"
        if state == TRANSFERS:
            lapses = quantity("seconds", ticket.lapses() - now)
        told = (state, quantity("seconds", now - since), needs, lapses)
        rows.append((job, user, str(ticket.nodes), size, *told))
    rows.sort(key=lambda row: row[4] != TRANSFERS)
    headers = ("job", "user id", "nodes", "size", "state", "for", "needs", "lapses in")
    return render(headers, rows).rstrip() if rows else "nobody transfers or waits"


def number(name: str, words: str) -> int:
    """Return the whole number that *words* are. Raise UsageError if they are none."""
    try:
        return int(float(words))
    except (ValueError, OverflowError):
        raise UsageError(f"{name} is {words!r}: give a whole number") from None


def size_of(words: str) -> int:
    """Return the bytes that *words* are, such as 8GB, 8e9 or 8000000000."""
    try:
        return number("BYTES", words)
    except UsageError:
        try:
            return parse_bytes(words)
        except UsageError:
            raise UsageError(
                f"BYTES is {words!r}: give a whole number, or a size such as 8GB"
            ) from None


def say(words: str) -> None:
    """Write *words* on standard error."""
    print(f"io_turn.py: {words}", file=sys.stderr, flush=True)


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("acquire", "release", "status"))
    parser.add_argument("folder", type=Path, help="a folder that all nodes see")
    parser.add_argument(
        "job", nargs="?", default="", help="the id of the job, such as $SLURM_JOB_ID"
    )
    parser.add_argument(
        "nodes", nargs="?", default="1", help="nodes that transfer in the step"
    )
    parser.add_argument("size", nargs="?", default="", help="bytes of the step")
    parser.add_argument(
        "--max-wait",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="go on without a turn after so long (default %(default)s)",
    )
    return parser


def main(words: list[str] | None = None) -> None:
    """Run the command that *words* say (None: those of the command line).

    A job that cannot take part goes on without a turn, and a line on standard error
    says why: no mistake holds up its I/O.
    """
    asked = arguments().parse_args(words)
    try:
        if asked.what == "status":
            print(status(asked.folder))
        elif asked.what == "release":
            release(asked.folder, asked.job)
        else:
            nodes, size = number("NODES", asked.nodes), size_of(asked.size)
            print(acquire(asked.folder, asked.job, nodes, size, asked.max_wait))
    except (IooptError, ValueError, OSError) as error:
        say(f"job {asked.job} goes on without a turn: {error}")


if __name__ == "__main__":
    main()
