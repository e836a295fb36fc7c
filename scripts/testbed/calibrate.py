"""Measure what the emulated network gives: single transfers, and transfers that share
an interface.

A share is the bytes that arrived, over the bytes that the limiting interface should let
through in that time. The timeline rules take it to be 1.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from bench.frame import show

from testbed.cluster import STORAGE, Cluster
from testbed.network import Network, missing
from testbed.scale import RATES

NODES = ("n0", "n1", "n2")
HEADS = ("transfers at once", "limited by", "seconds each", "took", "share")


@dataclass(frozen=True)
class Transfer:
    """A transfer of a file from ``sender`` to ``receiver`` (None: the storage)."""

    sender: str | None
    receiver: str | None

    def is_save(self) -> bool:
        """Return whether a node sends the file to the storage."""
        return self.receiver is STORAGE


@dataclass(frozen=True)
class Trial:
    """Transfers that begin together, each of ``seconds`` at the rate of the limit."""

    name: str
    limit: str
    seconds: float
    transfers: tuple[Transfer, ...]


def _fetches(count: int) -> tuple[Transfer, ...]:
    """Return fetches from the storage by the first *count* nodes."""
    return tuple(Transfer(STORAGE, node) for node in NODES[:count])


COPY = Transfer("n0", "n1")
TRIALS = (
    *(Trial("one fetch", "link", t, _fetches(1)) for t in (0.02, 0.2, 1.0, 4.0)),
    Trial("two fetches", "link", 3.0, _fetches(2)),
    Trial("three fetches", "link", 2.0, _fetches(3)),
    *(Trial("one copy", "interface", t, (COPY,)) for t in (0.05, 0.5, 3.0)),
    Trial("two copies from one node", "interface", 2.0, (COPY, Transfer("n0", "n2"))),
    Trial("copies both ways", "interface", 2.0, (COPY, Transfer("n1", "n0"))),
    Trial(
        "a save and a fetch", "link", 2.0, (Transfer("n0", STORAGE), *_fetches(2)[1:])
    ),
)
QUICK = 6
"""Number of the trials that a quick run makes."""


def main(quick: bool) -> None:
    """Measure all trials and print the table; skip it where the machine lacks
    something.
    """
    lacking = missing()
    if lacking is not None:
        print(f"testbed-rates: skipped, {lacking}", flush=True)
        return
    with (
        tempfile.TemporaryDirectory(prefix="ioopt-testbed-") as folder,
        Network() as network,
        Cluster(folder, "cubic") as cluster,
    ):
        network.add(cluster, STORAGE, RATES.link)
        for node in NODES:
            network.add(cluster, node, RATES.interface)
        trials = TRIALS[:QUICK] if quick else TRIALS
        show("What the emulated network gives", HEADS, list(rows(cluster, trials)))


def rows(cluster: Cluster, trials: tuple[Trial, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table, with the columns of HEADS."""
    for number, trial in enumerate(trials):
        rate = RATES.link if trial.limit == "link" else RATES.interface
        size = int(trial.seconds * rate)
        seconds = seconds_of(cluster, trial, size, f"trial {number}")
        share = size * len(trial.transfers) / seconds / rate
        yield (
            trial.name,
            trial.limit,
            f"{trial.seconds:g} s",
            f"{seconds:.3f} s",
            f"{share:.3f}",
        )


def seconds_of(cluster: Cluster, trial: Trial, size: int, name: str) -> float:
    """Make the transfers of *trial*, each of a file of *size* bytes; return the seconds
    from the first start to the last end.
    """
    files = []
    for number, transfer in enumerate(trial.transfers):
        file = f"{name}, {number}"
        cluster.do(transfer.sender, "make", file=file, bytes=size)
        files.append(file)
    for file, transfer in zip(files, trial.transfers, strict=True):
        details = {"file": file, "bytes": size}
        if transfer.is_save():
            cluster.order(transfer.sender, "put", peer=STORAGE, **details)
        else:
            cluster.order(transfer.receiver, "get", peer=transfer.sender, **details)
    answers = []
    for _ in files:
        answer = cluster.answer()
        assert answer is not None
        answers.append(answer)
    first = min(answer.start for answer in answers)
    return max(answer.end for answer in answers) - first
