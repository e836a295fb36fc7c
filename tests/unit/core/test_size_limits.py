"""Sizes that no machine could hold are refused where they are read, before
anything is allocated.
"""

import tracemalloc

import pytest
from batch_io_traces import FLAT, by_hand
from gang_tools import decision, workload

import ioopt
from ioopt.embed import GangednessMonitor, GangScheduler, IoArbiter
from ioopt.errors import InstanceError, UsageError, require_numbers

MACHINE = {**FLAT, "nodes": 8, "storage_bytes_per_second": 4.0}


def batch_io(repeat: int = 1, jobs: int = 1, **machine):
    made = by_hand([(k, 0, 4, 1e6, [(1, 1)]) for k in range(jobs)], machine)
    for job in made["jobs"]:
        job["phases"][0]["repeat"] = repeat
    return made


def gang_machine(nodes: int = 4, levels: int = 2):
    return {"nodes": nodes, "levels": levels, "quantum_seconds": 1.0}


def gang(**machine):
    return workload([(0, [0, 1], 10, 20)], **gang_machine(**machine))


def gang_matrix(**machine):
    return decision([], [(1, [0, 1], 10, 20)], **machine)


REFUSED = [
    (lambda: ioopt.solve(batch_io(repeat=10**9)), "job 0 has 1000000000 phases"),
    # neither alone is too much
    (
        lambda: ioopt.solve(batch_io(repeat=6_000_000, jobs=2)),
        "all jobs together may have 10000000",
    ),
    (
        lambda: ioopt.solve(batch_io(nodes=2**40, allocation="partition")),
        "at most 4194304 units",
    ),
    (
        lambda: IoArbiter(MACHINE | {"nodes": 2**40, "allocation": "partition"}),
        "4194304 units",
    ),
    (
        lambda: ioopt.solve(gang(levels=10**7)),
        "levels: must be 4096 or less, not 10000000",
    ),
    (
        lambda: ioopt.solve(gang(nodes=10**10)),
        "nodes: must be 4194304 or less, not 10000000000",
    ),
    (lambda: ioopt.solve(gang(nodes=2**22, levels=2**12)), "at most 268435456 cells"),
    (lambda: ioopt.solve(gang_matrix(levels=10**7)), r"machine.levels: .*4096"),
    (lambda: ioopt.solve(gang_matrix(nodes=10**10)), r"machine.nodes: .*4194304"),
    (lambda: GangScheduler(gang_machine(levels=10**7)), "levels: .*4096"),
    (lambda: GangScheduler(gang_machine(nodes=10**10)), "nodes: .*4194304"),
    (lambda: GangednessMonitor(processors=10**9), "from 2 to 4194304, not 1000000000"),
    (
        lambda: GangednessMonitor.restore(
            GangednessMonitor(4).state() | {"processors": 10**9}
        ),
        "from 2 to 4194304",
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_a_size_that_cannot_be_held_is_refused_before_it_is_allocated(case):
    call, message = REFUSED[case]
    tracemalloc.start()
    try:
        with pytest.raises((InstanceError, UsageError), match=message) as caught:
            call()
        assert (
            tracemalloc.get_traced_memory()[1] < 50e6
        )  # modules that are read at first use
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)


def test_fifty_million_numbers_are_the_most():
    require_numbers(50_000_000, "a table", "make it smaller")
    with pytest.raises(
        InstanceError, match=r"a table would need 5e.07 numbers.*make it smaller"
    ):
        require_numbers(50_000_001, "a table", "make it smaller")


def test_the_largest_machine_of_partitions_is_simulated():
    """Its blocks were found one by one, each as wide as the machine: hours."""
    result = ioopt.solve(batch_io(nodes=2**22, allocation="partition"), "fill")
    assert result.metrics["makespan_seconds"] == pytest.approx(1.25)


def test_large_numbers_that_allocate_nothing_are_taken():
    # a flat machine is a counter, and 2**40 nodes in units of 2**30 are 1024 units
    for machine in (
        {"nodes": 2**40},
        {"nodes": 2**40, "unit_nodes": 2**30, "allocation": "partition"},
    ):
        result = ioopt.solve(batch_io(**machine), "fill")
        # 1 s of computing, and 1 byte at 4 bytes/s (the storage's rate, or
        # that of the 4 nodes)
        assert result.metrics["makespan_seconds"] == pytest.approx(1.25)
