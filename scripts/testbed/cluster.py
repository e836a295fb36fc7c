"""Start the agents of nodes and of the storage, send orders, and collect answers."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

AGENT = Path(__file__).parent / "agent.py"
STORAGE = None
"""The name of the agent that is the remote storage."""
END_SECONDS = 5.0
"""How long an agent may take to end before it is killed."""


class CarryingFault(Exception):
    """What an agent could not carry out, or that a run cannot go on."""


@dataclass(frozen=True)
class Answer:
    """The answer of an agent to order ``id``: the monotonic times at which the work
    started and ended, and the most bytes that its disk has held.
    """

    id: int
    start: float
    end: float
    peak: int


class Cluster:
    """Agents, each a process with a folder of its own in *folder*.

    *congestion* names the algorithm of TCP; the kernel chooses if it is empty. Leave
    the ``with`` block to end all agents; they also end when this process does.
    """

    def __init__(self, folder: str, congestion: str = "") -> None:
        self.folder = folder
        self.congestion = congestion
        self._agents: dict[str | None, subprocess.Popen[str]] = {}
        self._addresses: dict[str | None, tuple[str, int]] = {}
        self._answers: queue.Queue[str | CarryingFault] = queue.Queue()
        self._orders = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self,
        name: str | None,
        inside: Sequence[str] = (),
        host: str = "127.0.0.1",
        listen: str = "127.0.0.1",
    ) -> int:
        """Start the agent *name*; return the id of its process.

        The command begins with *inside*, such as ``unshare --net``. Other agents reach
        it at *host*, and it accepts connections to the address *listen*.
        """
        place = f"{self.folder}/{len(self._agents)}"
        command = [*inside, sys.executable, "-I", str(AGENT), place, listen]
        process = subprocess.Popen(
            [*command, self.congestion],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C must reach the agents through this process alone.
            start_new_session=True,
        )
        self._agents[name] = process
        first = _output(process).readline()
        if not first:
            raise CarryingFault(f"the agent of {_called(name)} did not start")
        self._addresses[name] = host, json.loads(first)["port"]
        threading.Thread(target=self._listen, args=(name, process), daemon=True).start()
        return process.pid

    def _listen(self, name: str | None, process: subprocess.Popen[str]) -> None:
        """Pass on the answers of an agent, until it ends."""
        with suppress(ValueError):  # the pipe was closed
            for line in _output(process):
                self._answers.put(line)
        self._answers.put(CarryingFault(f"the agent of {_called(name)} has ended"))

    def order(self, name: str | None, do: str, **details: object) -> int:
        """Give agent *name* an order; return the id of the order.

        The words and their *details* are those of :mod:`testbed.agent`, but ``peer``
        names an agent in place of its address.
        """
        self._orders += 1
        order = {"id": self._orders, "do": do, **details}
        if "peer" in order:
            order["address"] = self._addresses[order.pop("peer")]  # type: ignore[index]
        pipe = self._agents[name].stdin
        assert pipe is not None
        pipe.write(json.dumps(order) + "\n")
        pipe.flush()
        return self._orders

    def answer(self, seconds: float | None = None) -> Answer | None:
        """Return the next answer; None if there is none within *seconds*.

        Raises CarryingFault for a fault.
        """
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(line, CarryingFault):
            raise line
        found = json.loads(line)
        if "fault" in found:
            raise CarryingFault(found["fault"])
        return Answer(**found)

    def do(self, name: str | None, do: str, **details: object) -> Answer:
        """Give agent *name* an order and wait until it is done; no other order may be
        under way.
        """
        number = self.order(name, do, **details)
        answer = self.answer()
        assert answer is not None and answer.id == number
        return answer

    def close(self) -> None:
        """End all agents."""
        for process in self._agents.values():
            with suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()
        for process in self._agents.values():
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _output(process: subprocess.Popen[str]) -> IO[str]:
    """Return the pipe from which the output of *process* is read."""
    assert process.stdout is not None
    return process.stdout


def _called(name: str | None) -> str:
    """Return how messages call the agent *name*."""
    return "the storage" if name is STORAGE else f"node {name!r}"
