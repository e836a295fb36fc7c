"""Replication plans on a real Dask cluster of processes."""

from __future__ import annotations

import pytest

import ioopt
from ioopt.errors import UsageError
from ioopt.problems.replication import ReplicationPlan

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    # Dask drops copies it has no use for every two seconds; here at once, so that it would show
    quick = {"distributed.scheduler.active-memory-manager.interval": "20ms"}
    with (
        dask.config.set(quick),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_a_plan_is_carried_out_where_it_says(client):
    from ioopt.embed.adapters.dask import execute

    problem = ioopt.load("image-16x3")
    result = ioopt.solve(problem, "minmin")
    plan = ReplicationPlan.model_validate(result.plan)
    done = execute(client, problem, plan, scale=1e-3)
    assert done.deviations == ()
    assert done.ran_on == {t: n for n, queue in plan.order.items() for t in queue}
    sizes = {file.id: round(file.bytes * 1e-3) for file in problem.files}
    wanted = {task.id: sum(sizes[name] for name in task.inputs) for task in problem.tasks}
    assert done.results == wanted
    free = execute(client, problem, None, scale=1e-3)
    assert free.results == wanted
    # the plan's copies are all that moves: distinct (file, node) beyond the first of each file
    needed = {(f, n) for n, queue in plan.order.items() for t in queue
              for f in problem.tasks[problem.task_index[t]].inputs}  # fmt: skip
    copies = sum(sizes[f] for f, _ in needed) - sum(sizes[f] for f in {f for f, _ in needed})
    assert done.moved_bytes == pytest.approx(copies, rel=0.05)
    # where Dask runs the tasks is its own affair; a file read on k nodes was copied k - 1 times
    readers = {(f, free.ran_on[task.id]) for task in problem.tasks for f in task.inputs}
    least = sum(sizes[f] for f, _ in readers) - sum(sizes[f] for f in {f for f, _ in readers})
    assert free.moved_bytes >= least
    assert all(free.held_by[f] for f, _ in readers)


def test_the_memory_manager_runs_on_afterwards(client):
    from ioopt.embed.adapters.dask import execute

    problem = ioopt.load("image-16x3")
    assert client.amm.running()
    execute(client, problem, None, scale=1e-3)
    assert client.amm.running()


def test_too_few_workers_are_refused(client):
    from ioopt.embed.adapters.dask import execute

    problem = ioopt.load("ppa-60x4")
    with pytest.raises(UsageError, match="4 nodes, the cluster 3 workers"):
        execute(client, problem, None)
