"""Emulate the network of an instance in Linux network namespaces.

The storage and each node get a namespace, and so does a switch with one bridge. Pairs
of virtual Ethernet interfaces lead to the bridge. A token bucket limits what goes into
and out of an interface together, as the timeline rules share a network interface; that
of the storage is the shared link.

The namespaces have no names. They live as long as the processes in them, which end with
the program that started them, however that ends: nothing is left to be removed. All
commands run inside these namespaces, never in the namespace of the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from ioopt.problems.replication import ReplicationProblem
from testbed.cluster import STORAGE, CarryingFault, Cluster

PROGRAMS = ("ip", "tc", "unshare", "nsenter")
"""Programs that are needed: of iproute2 and util-linux."""
HEADERS = 1514 / 1448
"""Bytes on the wire for each byte of a file: a full Ethernet frame with IPv4 and TCP
headers and time stamps.
"""
ANSWERS = 1.013
"""How much more the storage's bucket lets through, because the acknowledgements of all
nodes pass it.
"""
BURST_BYTES = 16384
BURST_SECONDS = 0.004
"""A token bucket holds the larger of these bytes and the bytes of these seconds."""
QUEUE_SECONDS = 0.03
"""How long a full queue of a token bucket takes to drain."""
HOLD = "import sys; print('here', flush=True); sys.stdin.read()"
"""A program that keeps the namespace of the switch."""


def missing() -> str | None:
    """Return what this machine lacks for emulated networks, in words; None if it lacks
    nothing.
    """
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"no {', '.join(lacking)} (Debian: iproute2, util-linux)"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    for kind in ("bridge", "ifb", "veth"):
        tried = subprocess.run(
            ["unshare", "--net", "ip", "link", "add", "try0", "type", kind],
            capture_output=True,
            text=True,
        )
        if tried.returncode != 0:
            said = tried.stderr.strip() or f"exit code {tried.returncode}"
            return f"no interface of type {kind} in a namespace ({said})"
    return None


class Network:
    """A switch in a namespace of its own, to which agents are attached."""

    def __init__(self) -> None:
        self._addresses = 0
        self._holder = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-I", "-c", HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._holder.stdout is not None
        if not self._holder.stdout.readline():
            raise CarryingFault("the namespace of the switch could not be made")
        self._in_switch("ip", "link", "add", "br0", "type", "bridge")
        self._in_switch("ip", "link", "set", "br0", "up")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the switch, and with it all interfaces."""
        assert self._holder.stdin is not None
        with suppress(OSError):
            self._holder.stdin.close()
        self._holder.wait()

    def add(self, cluster: Cluster, name: str | None, rate: float) -> None:
        """Start the agent *name* of *cluster* in a namespace whose interface sends and
        receives *rate* bytes of files in a second, both ways together.
        """
        self._addresses += 1
        number = self._addresses
        host = f"10.77.{number // 250}.{number % 250 + 1}"
        agent = cluster.add(name, ("unshare", "--net"), host, "0.0.0.0")
        self._in_switch(
            *("ip", "link", "add", f"port{number}", "type", "veth"),
            *("peer", "name", "eth0", "netns", str(agent)),
        )
        self._in_switch("ip", "link", "set", f"port{number}", "master", "br0", "up")
        run_inside(agent, "ip", "link", "set", "lo", "up")
        run_inside(agent, "ip", "address", "add", f"{host}/16", "dev", "eth0")
        run_inside(agent, "ip", "link", "set", "eth0", "up")
        limit(agent, rate * HEADERS * (ANSWERS if name is STORAGE else 1.0))

    def _in_switch(self, *command: str) -> None:
        run_inside(self._holder.pid, *command)


def limit(agent: int, rate: float) -> None:
    """Let *rate* bytes a second through the interface of the namespace of process
    *agent*, both ways together.

    Both ways are led through one intermediate interface (ifb) with a token bucket.
    """
    burst = max(BURST_BYTES, int(rate * BURST_SECONDS))
    queue = max(4 * BURST_BYTES, BURST_BYTES + int(rate * QUEUE_SECONDS))
    run_inside(agent, "ip", "link", "add", "both0", "type", "ifb")
    run_inside(agent, "ip", "link", "set", "both0", "up")
    run_inside(
        agent,
        *("tc", "qdisc", "add", "dev", "both0", "root", "tbf"),
        *("rate", f"{int(8 * rate)}bit", "burst", str(burst), "limit", str(queue)),
    )
    run_inside(agent, "tc", "qdisc", "add", "dev", "eth0", "clsact")
    for way in ("ingress", "egress"):
        run_inside(
            agent,
            *("tc", "filter", "add", "dev", "eth0", way, "protocol", "all"),
            *("u32", "match", "u32", "0", "0"),
            *("action", "mirred", "egress", "redirect", "dev", "both0"),
        )


def run_inside(process: int, *command: str) -> None:
    """Run *command* in the network namespace of *process*.

    Raises CarryingFault if that is the namespace of the machine, which is never
    touched, or if the command fails.
    """
    if os.readlink(f"/proc/{process}/ns/net") == os.readlink("/proc/self/ns/net"):
        raise CarryingFault(f"process {process} has no network namespace of its own")
    whole: Sequence[str] = ["nsenter", "--target", str(process), "--net", *command]
    done = subprocess.run(whole, capture_output=True, text=True)
    if done.returncode != 0:
        raise CarryingFault(f"{' '.join(command)}: {done.stderr.strip()}")


def add_all(network: Network, cluster: Cluster, problem: ReplicationProblem) -> None:
    """Start the storage and the nodes of *problem*, whose rates are those of its
    network.
    """
    rates = problem.network
    network.add(cluster, STORAGE, rates.remote_bytes_per_second)
    for node in problem.nodes:
        network.add(cluster, node.id, rates.replica_bytes_per_second)
