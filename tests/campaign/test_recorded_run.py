"""The script that records the sample of ``ioopt validate``. No test judges times."""

from dataclasses import replace

from testbed.cluster import STORAGE, Cluster
from tools import recorded_run
from tools.recorded_run import Engine, dag, trace, workflow

from ioopt.validation.record import read_record


def test_the_sample_is_a_run_of_the_workflow():
    record = read_record(str(recorded_run.TRACE), str(recorded_run.DAG))
    _, tasks = workflow(recorded_run.SEED)
    assert record.notes == () and record.hosts == recorded_run.NODES
    assert recorded_run.DAG.read_text() == dag()
    run = {task.id: task for task in record.tasks}
    assert run.keys() == {task.name for task in tasks}
    for task in tasks:
        found = run[task.name]
        assert found.read_bytes == sum(size for _, size in task.inputs)
        assert found.written_bytes == task.output[1]
        assert found.cores == task.process.cores
        # What a task reads is written before the task is submitted.
        for file, _ in task.inputs:
            for writer in tasks:
                if writer.output[0] == file:
                    assert run[writer.name].end <= found.submit


def quick(task):
    """The task with a thousandth of its bytes, and a hundredth of its seconds."""
    name, size = task.output
    return replace(
        task,
        inputs=[(file, size // 1000) for file, size in task.inputs],
        output=(name, size // 1000),
        container=task.container / 100,
        computes=task.computes / 100,
    )


def test_a_run_on_agents_is_recorded_in_the_form_of_nextflow(tmp_path):
    """Two samples, without network namespaces."""
    files, tasks = workflow(3)
    tasks = [quick(task) for task in tasks if task.name.endswith(("s01)", "s02)"))]
    with Cluster(str(tmp_path / "cluster")) as cluster:
        for name in (STORAGE, *recorded_run.NODES):
            cluster.add(name)
            cluster.do(name, "open", disk=None)
        for file, size in files[:2]:
            cluster.do(STORAGE, "make", file=file, bytes=size // 1000)
        Engine(cluster, files[:2], tasks).run()
    (tmp_path / "trace.txt").write_text(trace(tasks, 1e9))
    (tmp_path / "dag.dot").write_text(dag())
    record = read_record(str(tmp_path / "trace.txt"), str(tmp_path / "dag.dot"))
    assert record.has_graph and len(record.tasks) == 6
    run = {task.id: task for task in record.tasks}
    for task in tasks:
        found = run[task.name]
        assert found.host == task.node
        assert found.submit <= found.start < found.end
        assert found.realtime <= found.end - found.start
    assert run["CLEAN (s01)"].end <= run["ALIGN (s01)"].submit
