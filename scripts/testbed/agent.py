"""Store the files of one node, send them over TCP, and carry out orders.

usage: agent.py FOLDER ADDRESS [CONGESTION]

This program needs the standard library only, so that it starts fast. The first line
that it prints is ``{"port": N}``. Each line of standard input is an order, a JSON
object with an ``id`` and the word ``do``; each is answered by a line with the same id,
and with the monotonic times at which the work started and ended, or with a ``fault``:

- ``open``: what follows counts against a disk of ``disk`` bytes (null: unlimited).
- ``make``: write a file.
- ``get``: fetch a file from the agent at ``address``.
- ``put``: send a file to the agent at ``address``.
- ``run``: read the ``inputs``, compute for ``seconds``, and write the ``outputs``.
- ``evict``: remove a file.

The bytes of a file follow from its name, and the receiver compares every byte. When
standard input ends, the agent removes its folder and ends, so it never outlives the
program that gives the orders.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

CHUNK = 1 << 17
"""The number of bytes that are sent, received or written at once."""
CLOSE_SECONDS = 60.0
"""How long a peer may be silent before a transfer is a fault."""


class Fault(Exception):
    """An order that cannot be carried out; the text says why."""


def content(name: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of the file *name*, *size* bytes in all, in pieces of at most
    CHUNK bytes.
    """
    block = hashlib.sha256(name.encode()).digest()
    piece = block * (CHUNK // len(block))
    for start in range(0, size, CHUNK):
        yield piece[: min(CHUNK, size - start)]


class Store:
    """The files of a node in a folder, and the bytes that they claim on its disk.

    A file claims its bytes as soon as it begins to arrive or to be written.
    """

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.capacity: int | None = None
        self.claims: dict[str, int] = {}
        self.peak = 0
        self._lock = threading.Lock()

    def path(self, name: str) -> str:
        """Return the path of the file *name*, whose characters may be any."""
        return os.path.join(self.folder, hashlib.sha256(name.encode()).hexdigest())

    def claim(self, name: str, size: int) -> None:
        """Reserve *size* bytes for the file *name*, which is not there yet."""
        with self._lock:
            if name in self.claims:
                raise Fault(f"file {name!r} is there already")
            used = sum(self.claims.values()) + size
            if self.capacity is not None and used > self.capacity:
                raise Fault(
                    f"file {name!r} of {size} bytes does not fit: {used} bytes are "
                    f"wanted of {self.capacity}"
                )
            self.claims[name] = size
            self.peak = max(self.peak, used)

    def evict(self, name: str) -> None:
        """Remove the file *name*; its bytes are free at once."""
        with self._lock:
            if name not in self.claims:
                raise Fault(f"file {name!r} is not there")
            os.unlink(self.path(name))
            del self.claims[name]

    def write(self, name: str, size: int) -> None:
        """Write the file *name*, whose bytes are claimed."""
        with open(self.path(name) + ".part", "wb") as file:
            for piece in content(name, size):
                file.write(piece)

    def complete(self, name: str) -> None:
        """Let a file that was written or received appear under its name."""
        os.rename(self.path(name) + ".part", self.path(name))

    def require(self, name: str, size: int) -> None:
        """Compare every byte of the file *name* with what it should be."""
        try:
            with open(self.path(name), "rb") as file:
                for piece in content(name, size):
                    if file.read(len(piece)) != piece:
                        raise Fault(f"file {name!r} has wrong bytes")
                if file.read(1):
                    raise Fault(f"file {name!r} has more than {size} bytes")
        except FileNotFoundError:
            raise Fault(f"file {name!r} is not there") from None

    def receive(self, stream: BinaryIO, name: str, size: int) -> None:
        """Write the file *name* from *stream*, and compare every byte."""
        with open(self.path(name) + ".part", "wb") as file:
            for piece in content(name, size):
                got = stream.read(len(piece))
                if got != piece:
                    raise Fault(f"file {name!r} arrived with other or fewer bytes")
                file.write(got)
        self.complete(name)


class Agent:
    """Carry out orders on the files of *store*; send files to other agents."""

    def __init__(self, store: Store, address: str, congestion: str) -> None:
        self.store = store
        self.congestion = congestion
        self.listener = socket.create_server((address, 0), backlog=64)
        self._output = threading.Lock()

    def _tuned(self, connection: socket.socket) -> socket.socket:
        """Return *connection*, with its algorithm of congestion control set."""
        if self.congestion:
            algorithm = self.congestion.encode()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(CLOSE_SECONDS)
        return connection

    def tell(self, answer: dict[str, object]) -> None:
        """Print *answer* as a line."""
        text = json.dumps(answer) + "\n"
        with self._output:
            sys.stdout.write(text)
            sys.stdout.flush()

    def serve(self) -> None:
        """Answer the requests of other agents, each in a thread of its own."""
        while True:
            connection, _ = self.listener.accept()
            work = threading.Thread(
                target=self._answer, args=(connection,), daemon=True
            )
            work.start()

    def _answer(self, connection: socket.socket) -> None:
        """Send the file that a peer asks for, or receive one that it sends.

        A peer sees a fault because the connection closes early.
        """
        with connection, connection.makefile("rb") as stream:
            try:
                self._tuned(connection)
                request = json.loads(stream.readline())
                name = request["file"]
                size = request["bytes"]
                if request["do"] == "get":
                    with open(self.store.path(name), "rb") as file:
                        connection.sendfile(file)
                else:
                    self.store.claim(name, size)
                    self.store.receive(stream, name, size)
                    connection.sendall(b"whole\n")
            except (Fault, OSError, ValueError) as fault:
                print(f"agent: {fault}", file=sys.stderr, flush=True)

    def obey(self, order: dict[str, Any]) -> None:
        """Carry out one order, and answer it."""
        answer = {"id": order["id"], "start": time.monotonic()}
        try:
            getattr(self, f"do_{order['do']}")(order)
        except Exception as fault:  # whatever it is, the executor must not wait
            answer["fault"] = str(fault) or repr(fault)
        answer["end"] = time.monotonic()
        answer["peak"] = self.store.peak
        self.tell(answer)

    def do_open(self, order: dict[str, Any]) -> None:
        """Set the capacity of the disk."""
        self.store.capacity = order["disk"]

    def do_make(self, order: dict[str, Any]) -> None:
        """Write a file."""
        self.store.claim(order["file"], order["bytes"])
        self.store.write(order["file"], order["bytes"])
        self.store.complete(order["file"])

    def do_evict(self, order: dict[str, Any]) -> None:
        """Remove a file."""
        self.store.evict(order["file"])

    def do_get(self, order: dict[str, Any]) -> None:
        """Fetch a file from another agent."""
        self.store.claim(order["file"], order["bytes"])
        with self._request(order) as connection, connection.makefile("rb") as stream:
            self.store.receive(stream, order["file"], order["bytes"])

    def do_put(self, order: dict[str, Any]) -> None:
        """Send a file to another agent, and wait until it is whole there."""
        path = self.store.path(order["file"])
        with self._request(order) as connection, open(path, "rb") as file:
            answer = b""
            with suppress(OSError):  # a peer that refuses the file closes early
                connection.sendfile(file)
                answer = connection.recv(16)
        if answer != b"whole\n":
            raise Fault(f"file {order['file']!r} did not arrive whole")

    def _request(self, order: dict[str, Any]) -> socket.socket:
        """Return a connection to the agent at the order's address, which has been told
        what the order is.
        """
        host, port = order["address"]
        connection = self._tuned(socket.socket())
        connection.connect((host, port))
        connection.sendall(json.dumps(order).encode() + b"\n")
        return connection

    def do_run(self, order: dict[str, Any]) -> None:
        """Read the inputs, compute, and write the outputs.

        Reading and writing are parts of the seconds of computing.
        """
        end = time.monotonic() + order["seconds"]
        for name, size in order["outputs"]:
            self.store.claim(name, size)
        for name, size in order["inputs"]:
            self.store.require(name, size)
        for name, size in order["outputs"]:
            self.store.write(name, size)
        time.sleep(max(0.0, end - time.monotonic()))
        for name, _ in order["outputs"]:
            self.store.complete(name)


AT_ONCE = ("open", "evict")
"""Orders that are carried out before the next order is read."""


def main() -> None:
    """Serve and obey until standard input ends."""
    agent = Agent(Store(sys.argv[1]), sys.argv[2], "".join(sys.argv[3:4]))
    agent.tell({"port": agent.listener.getsockname()[1]})
    threading.Thread(target=agent.serve, daemon=True).start()
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] in AT_ONCE:
            agent.obey(order)
        else:
            threading.Thread(target=agent.obey, args=(order,), daemon=True).start()
    shutil.rmtree(agent.store.folder, ignore_errors=True)
    # Transfers that still run must not keep the process alive.
    os._exit(0)


if __name__ == "__main__":
    main()
