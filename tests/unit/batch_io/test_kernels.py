"""The compiled form of each policy, run as the plain Python that it is, decides as the policy does."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ioopt.decisions.batch_io import IoPolicy, KernelView, Limits, Request, View
from ioopt.problems.batch_io import Machine
from ioopt.registry.policies import io_policy
from tests.batch_io_traces import POLICIES


def view_of(seed: int, own_peaks: bool = False) -> View:
    """Up to 12 requests; few distinct numbers, so that keys tie."""
    rng = random.Random(seed)
    machine = Machine(
        nodes=200, unit_nodes=1, allocation="flat", node_bytes_per_second=1.0,
        storage_bytes_per_second=rng.choice([3.0, 8.0, 63.0, 64.0, 130.0]),
    )  # fmt: skip
    limits, requests = Limits.of(machine), []
    for k in range(rng.randint(1, 12)):
        nodes = rng.choice([1, 2, 3, 8, 40, 70])
        request = Request(
            k, nodes, limits, rng.choice([0.0, 5.0, 9.0]), rng.choice([4.0, 30.0, 77.7]),
            rng.choice([None, 0.7, 1.0, 2.0, 30.0]) if own_peaks else None,
        )  # fmt: skip
        request.moved = rng.choice([0.0, 0.0, 2.0, 11.0])
        request.start = request.requested - rng.choice([0.0, 1.0, 20.0])
        request.compute_so_far = rng.choice([0.0, 1.0, 20.0])
        request.iteration = rng.choice([1.0, 30.0, 31.0, 500.0])
        requests.append(request)
    limits = replace(limits, own_peaks=own_peaks)
    return View(limits, 9.0, sorted(requests, key=lambda request: request.key))


def by_kernel(policy: IoPolicy, view: View) -> list[float]:
    """The rates that the kernel gives on lists."""
    twin, limits, size = policy.twin, view.limits, len(view.requests)
    assert twin is not None
    jobs = []
    for request in view.requests:
        jobs.append(type("Job", (), {name: getattr(request, name) for name in Request.__slots__}))
        jobs[-1].constant = twin.constant(request) if twin.constant else 0.0
    room = [[0.0] * (size + 1) for _ in range(4)]
    rates = [0.0] * size
    words = limits.capacity_units // 62 + 1
    twin.kernel(
        KernelView(
            jobs, range(size), size, view.now, limits.storage, limits.node_rate,
            limits.capacity_units, limits.saturating_units, limits.own_peaks, twin.top, room[0],
            [0] * (size + 1), *room[1:], [[0] * words for _ in range(size + 1)], [0.0] * 5000,
            [0] * 5000, [0] * (size + 2),
        ),
        rates,
    )  # fmt: skip
    return rates


@pytest.mark.parametrize("own_peaks", [False, True])
@pytest.mark.parametrize("name", sorted({*POLICIES} - {"no-congestion"}))
def test_a_kernel_decides_as_its_policy(name: str, own_peaks: bool) -> None:
    policy, refused = io_policy(name), 0
    for seed in range(150):
        view = view_of(seed, own_peaks)
        # Policies that grant every peak when all fit are not asked then.
        if sum(request.peak for request in view.requests) <= view.limits.storage:
            continue
        wanted = policy.decide(view)
        assert by_kernel(policy, view) == pytest.approx(wanted, rel=1e-12, abs=1e-9), (seed, name)
        refused += 0 in wanted
    assert refused > 40 or name in ("adaptive", "base-line")


@pytest.mark.parametrize("share", ["per-application", "even-split"])
def test_the_readings_of_base_line_have_kernels(share: str) -> None:
    policy = io_policy("base-line", {"share": share})
    for seed in range(80):
        view = view_of(seed, own_peaks=seed % 2 == 0)
        assert by_kernel(policy, view) == policy.decide(view), seed
