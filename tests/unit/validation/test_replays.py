"""Tests of replays of records, with the arithmetic shown, and of the fit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from recorded_samples import MB, pair, task

from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine
from ioopt.options import Deadline
from ioopt.sim.replication.simulate import simulate
from ioopt.validation.fit import FITTED, Sample, fit, third_of
from ioopt.validation.record import Record
from ioopt.validation.storage import (
    Constants,
    Storage,
    compute_seconds,
    cores_of,
    frame_of,
    known_constants,
    placement_of,
    problem_of,
)

TEN = Constants(
    overhead_seconds=1, remote_bytes_per_second=10e6, node_bytes_per_second=10e6
)


def seconds(record: Record, storage: Storage, constants: Constants = TEN) -> float:
    """Return the makespan of the replay of the recorded placement."""
    problem = problem_of(record, storage, constants)
    plan = placement_of(record, problem)
    makespan: float = simulate(problem, plan).metrics["makespan_seconds"]
    return makespan


def test_nfs_reads_again_what_its_node_wrote() -> None:
    """At 10 MB/s: a takes 1 + 2 + 100/10 = 13 s; b takes 1 + 100/10 + 3 + 50/10 = 19 s;
    in all 32 s.
    """
    assert seconds(pair(), "nfs") == pytest.approx(32)


def test_ceph_keeps_what_its_node_wrote() -> None:
    """13 s for a, and 1 + 3 + 50/10 = 9 s for b; on another node b reads, as above."""
    assert seconds(pair(), "ceph") == pytest.approx(22)
    assert seconds(pair("h2"), "ceph") == pytest.approx(32)


def test_a_small_cache_forgets() -> None:
    """A cache of 99 MB does not keep the 100 MB that b reads."""
    small = TEN.model_copy(update={"cache_bytes": 99 * MB})
    assert seconds(pair(), "ceph", small) == pytest.approx(32)


def test_bytes_written_count_by_the_write_factor() -> None:
    """With factor 2, a writes 200 MB: 1 + 2 + 20 = 23 s; b writes 100 MB and keeps its
    input in the cache: 1 + 3 + 10 = 14 s.
    """
    twice = TEN.model_copy(update={"write_factor": 2.0})
    assert seconds(pair(), "ceph", twice) == pytest.approx(37)


def test_products_on_node_disks_are_copied_between_nodes_only() -> None:
    """On one node 1 + 2 and 1 + 3 s. On two nodes b first copies for 100/10 s."""
    assert seconds(pair(), "node") == pytest.approx(7)
    assert seconds(pair("h2"), "node") == pytest.approx(17)


def test_files_pass_the_disk_of_the_node_while_a_task_computes() -> None:
    """At 25 MB/s, a is 1 + max(2, 100/25) = 5 s, and b 1 + max(3, 150/25) = 7 s."""
    slow = TEN.model_copy(update={"disk_bytes_per_second": 25e6})
    assert seconds(pair(), "node", slow) == pytest.approx(12)


def test_a_task_computes_while_its_script_used_a_processor() -> None:
    """20 s at 10 % are 2 s. With four threads busy all the time, the time is all of
    realtime, as it is where nothing is recorded.
    """
    one = task("a", 0, 20, computes=2)
    assert compute_seconds(one) == pytest.approx(2)
    assert compute_seconds(replace(one, cpu_share=4.0)) == 20
    assert compute_seconds(replace(one, cpu_share=None)) == 20


def test_the_recorded_order_is_replayed_even_against_the_order_of_the_trace() -> None:
    late = task("late", 30, 40)
    early = task("early", 0, 10)
    record = Record(
        "order",
        (late, early),
        inputs={"late": (), "early": ()},
        outputs={"late": (), "early": ()},
    )
    problem = problem_of(record, "nfs", TEN)
    assert placement_of(record, problem).order == {"h1": ("early", "late")}


def test_clocks_that_differ_do_not_put_a_reader_before_its_writer() -> None:
    """b seems to start before a, and on the same node; its queue is a, b all the
    same.
    """
    record = pair()
    a, b = record.tasks
    skewed = replace(record, tasks=(replace(a, start=5.0), replace(b, start=4.0)))
    problem = problem_of(skewed, "nfs", TEN)
    assert placement_of(skewed, problem).order == {"h1": ("a", "b")}
    assert seconds(skewed, "nfs") == pytest.approx(32)


def test_nodes_have_the_cores_that_tasks_held_at_once() -> None:
    """Tasks of 2 and 3 cores overlap; the one of 4 starts when the others have
    ended.
    """
    tasks = (
        task("a", 0, 10, cores=2),
        task("b", 5, 10, cores=3),
        task("c", 10, 12, cores=4),
    )
    nothing: dict[str, tuple[str, ...]] = {"a": (), "b": (), "c": ()}
    record = Record("cores", tasks, inputs=nothing, outputs=nothing)
    assert cores_of(record) == 5
    assert frame_of(record, "nfs").nodes[0].cores == 5
    assert frame_of(record, "nfs", Machine(cores=8)).nodes[0].cores == 8
    with pytest.raises(UsageError, match="--storage says where products are"):
        frame_of(record, "nfs", Machine(products="shared"))


def test_without_hosts_the_machine_must_be_said() -> None:
    record = pair()
    a, b = record.tasks
    blind = replace(record, tasks=(a, replace(b, host=None)))
    assert blind.hosts == ()
    with pytest.raises(UsageError, match="--machine nodes=N,cores=N"):
        frame_of(blind, "nfs")
    frame = frame_of(blind, "nfs", Machine(nodes=2, cores=1))
    assert len(frame.nodes) == 2
    with pytest.raises(UsageError, match="no placement"):
        placement_of(blind, frame)


def simulated(storage: Storage, constants: Constants, chains: int = 6) -> Record:
    """Return the record of a simulated run: *chains* of three tasks each on three nodes
    of two cores, with bytes and seconds that differ.

    The simulated seconds of each task are recorded, with the share in which it
    computed. Nothing of the constants is in the record itself.
    """
    tasks = []
    files: dict[str, int] = {}
    inputs: dict[str, tuple[str, ...]] = {}
    outputs: dict[str, tuple[str, ...]] = {}
    for chain in range(chains):
        before: tuple[str, ...] = ()
        for step in range(3):
            name = f"t{chain}.{step}"
            files[name] = (40 + 7 * chain + 11 * step) * MB
            inputs[name] = before
            outputs[name] = (name,)
            before = (name,)
            host = f"h{(chain + step) % 3}"
            computes = 2.0 + (5 * chain + 3 * step) % 7
            order = float(step * chains + chain)
            tasks.append(task(name, order, order + computes, host, computes))
    planned = Record("made", tuple(tasks), (), (), files, inputs, outputs)
    problem = problem_of(planned, storage, constants, Machine(cores=2))
    schedule = simulate(problem, placement_of(planned, problem)).schedule
    ran = {row["id"]: row for row in schedule["tasks"]}
    recorded = []
    for one in tasks:
        start = ran[one.id]["start_seconds"]
        end = ran[one.id]["end_seconds"]
        computes = one.end - one.start
        recorded.append(task(one.id, start, end, one.host, computes))
    return replace(planned, tasks=tuple(recorded))


def fitted(record: Record, storage: Storage) -> tuple[Sample, Constants]:
    """Fit *storage* on a third of the tasks of *record*."""
    frame = frame_of(record, storage, Machine(cores=2))
    sample = Sample.of(record, frame, third_of(record))
    return sample, fit([sample], storage).constants


@pytest.mark.parametrize(
    ("storage", "constants"),
    [
        (
            "nfs",
            Constants(
                overhead_seconds=3,
                remote_bytes_per_second=20e6,
                node_bytes_per_second=40e6,
            ),
        ),
        (
            "node",
            Constants(
                overhead_seconds=2,
                remote_bytes_per_second=20e6,
                node_bytes_per_second=30e6,
                disk_bytes_per_second=25e6,
            ),
        ),
    ],
)
def test_the_fit_recovers_the_constants_of_a_simulated_run(
    storage: Storage, constants: Constants
) -> None:
    record = simulated(storage, constants)
    sample, found = fitted(record, storage)
    assert sample.error(found) < 0.02
    others = set(range(len(record.tasks))) - set(sample.judged)
    judged = Sample.of(record, sample.frame, sorted(others))
    assert judged.error(found) < 0.05  # rates that bind for short are not decided
    decided = "disk_bytes_per_second"
    if storage == "nfs":
        decided = "remote_bytes_per_second"
        overhead = pytest.approx(constants.overhead_seconds, abs=1.0)
        assert found.overhead_seconds == overhead
    assert getattr(found, decided) == pytest.approx(
        getattr(constants, decided), rel=0.1
    )


def test_the_fit_is_deterministic_and_keeps_what_is_known() -> None:
    record = simulated("nfs", TEN, chains=2)
    sample, found = fitted(record, "nfs")
    assert fitted(record, "nfs")[1] == found
    known = {"remote_bytes_per_second": 5e6}
    kept = fit([sample], "nfs", fixed=known).constants
    assert kept.remote_bytes_per_second == 5e6


def test_a_fit_that_time_ends_says_so() -> None:
    record = simulated("nfs", TEN, chains=2)
    sample = Sample.of(record, frame_of(record, "nfs", Machine(cores=2)))
    assert fit([sample], "nfs", deadline=Deadline(0.0)).ended_early


def test_at_most_five_constants_are_known_for_each_kind_of_storage() -> None:
    for storage, constants in known_constants().items():
        assert len(FITTED[storage]) <= 5
        for name in FITTED[storage]:
            assert getattr(constants, name) is not None
