"""WfFormat: what becomes what, selections, oddities, refusals, and a fuzz."""

import json
from functools import partial
from typing import Any

import pytest
from conftest import shared_files

from ioopt.errors import InstanceError
from ioopt.formats.wfformat.export import export_wfformat, left_out
from ioopt.formats.wfformat.instance import (
    Machine,
    problem_from_wfformat,
    read_wfformat,
)
from ioopt.problems.replication import ReplicationProblem

flat = partial(problem_from_wfformat, flatten=True)


def v15() -> dict[str, Any]:
    """split -> (blast_1, blast_2) -> cat; everybody but cat reads ``nt``."""
    return {
        "name": "blast",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": "split_ID01",
                        "id": "s",
                        "parents": [],
                        "children": ["b1", "b2"],
                        "inputFiles": ["fasta", "nt"],
                        "outputFiles": ["p1", "p2"],
                    },
                    {
                        "name": "blast_ID02",
                        "id": "b1",
                        "parents": ["s"],
                        "children": [],
                        "inputFiles": ["p1", "nt"],
                        "outputFiles": ["o1"],
                    },
                    {
                        "name": "blast_ID03",
                        "id": "b2",
                        "parents": ["s"],
                        "children": [],
                        "inputFiles": ["nt", "p2"],
                        "outputFiles": ["o2"],
                    },
                    {
                        "name": "cat_ID04",
                        "id": "c",
                        "parents": [],
                        "children": [],
                        "inputFiles": ["o1", "o2"],
                        "outputFiles": ["all"],
                    },
                ],
                "files": [
                    {"id": name, "sizeInBytes": size}
                    for name, size in (
                        ("fasta", 10),
                        ("nt", 500),
                        ("p1", 3),
                        ("p2", 4),
                        ("o1", 6),
                        ("o2", 7),
                        ("all", 9),
                    )
                ],
            },
            "execution": {
                "makespanInSeconds": 9,
                "executedAt": "2020-01-01T00:00:00Z",
                "tasks": [
                    {
                        "id": "s",
                        "runtimeInSeconds": 1.5,
                        "command": {"program": "/bin/split"},
                    },
                    {
                        "id": "b1",
                        "runtimeInSeconds": 2,
                        "command": {"program": "blastall"},
                    },
                    {
                        "id": "b2",
                        "runtimeInSeconds": 3.25,
                        "command": {"program": "blastall"},
                    },
                    {"id": "c", "runtimeInSeconds": 0},
                ],
            },
        },
    }


def _tasks(problem: ReplicationProblem) -> list[tuple[float, tuple[str, ...]]]:
    return [(task.compute_seconds, task.inputs) for task in problem.tasks]


def test_files_read_become_inputs_and_run_times_compute_seconds():
    problem = flat(v15(), "blast.json")
    assert [task.id for task in problem.tasks] == ["s", "b1", "b2", "c"]
    assert _tasks(problem) == [
        (1.5, ("fasta", "nt")),
        (2.0, ("p1", "nt")),
        (3.25, ("nt", "p2")),
        (0.0, ("o1", "o2")),
    ]
    # "all" is written but never read.
    assert {f.id: f.bytes for f in problem.files} == {
        "fasta": 10,
        "nt": 500,
        "p1": 3,
        "p2": 4,
        "o1": 6,
        "o2": 7,
    }


def test_machine_options():
    machine = Machine.model_validate(
        {
            "nodes": "3",
            "disk": "2kB",
            "remote_rate": "100Mbps",
            "replica_rate": "8Gbps",
            "link": "per-node",
            "speed": "2",
        }
    )
    problem = flat(v15(), "x", machine=machine)
    assert [(n.disk_bytes, n.speed) for n in problem.nodes] == [(2000, 2.0)] * 3
    network = problem.network
    assert (network.remote_bytes_per_second, network.replica_bytes_per_second) == (
        12.5e6,
        1e9,
    )
    assert network.remote_link == "per-node"


def test_disk_as_a_share_is_never_less_than_the_largest_task():
    # 530 distinct bytes: half is 265, but split reads 510.
    problem = flat(v15(), "x", machine=Machine(disk="50%"))
    assert problem.nodes[0].disk_bytes == 510
    assert "raised to the 510" in problem.meta["warnings"][-2]
    assert flat(v15(), "x", machine=Machine(disk="100%")).nodes[0].disk_bytes == 530


def _spec(document: dict[str, Any]) -> dict[str, Any]:
    return document["workflow"]["specification"]


def test_oddities_are_warned_of():
    data = v15()
    _spec(data)["tasks"][1]["inputFiles"].append("nt")
    _spec(data)["tasks"][2]["parents"].append("nobody")
    _spec(data)["files"] = [file for file in _spec(data)["files"] if file["id"] != "o1"]
    runs = data["workflow"]["execution"]["tasks"]
    runs[1]["runtimeInSeconds"] = -4
    del runs[2]
    problem = flat(data, "x")
    assert problem.tasks[1].inputs == ("p1", "nt")
    assert [task.compute_seconds for task in problem.tasks] == [1.5, 0, 0, 0]
    assert {f.id: f.bytes for f in problem.files}["o1"] == 0
    assert [text.removeprefix("x: ") for text in problem.meta["warnings"]] == [
        "an unknown parent was left out: nobody",
        "a task without coreCount counts as 1 core: s and 3 more",
        "an input listed twice was taken once, in task: b1",
        "a file without a size counts as 0 bytes: o1",
        "a negative run time counts as 0 s, in task: b1",
        "a task without a run time counts as 0 s: b2",
        "a run time of 0 s, in task: c",
        "precedence is dropped: 3 of 4 tasks wait for others, and what "
        "those write counts as lying on remote storage",
        "machine assumed: 4 nodes, disk unlimited, speed 1, 12.5 MB/s from remote "
        "storage, link shared, 1 GB/s between nodes (not given; the file has none)",
    ]


def test_a_machine_that_is_given_is_not_called_invented():
    data = v15()
    data["workflow"]["execution"]["machines"] = [{"nodeName": "x"}, {"nodeName": "y"}]
    some = problem_from_wfformat(
        data, "x", machine=Machine(nodes=2, disk="1GB", speed=1)
    )
    assert _said(some, "machine assumed") == [
        "machine assumed: 12.5 MB/s from remote storage, link shared, 1 GB/s "
        "between nodes (not given; the file has none)"
    ]
    given = {
        "nodes": 2,
        "cores": 2,
        "disk": "1GB",
        "speed": 1,
        "remote_rate": 1e6,
        "replica_rate": 1e9,
        "link": "shared",
    }
    whole = problem_from_wfformat(data, "x", machine=Machine(**given))
    assert not _said(whole, "machine assumed") and "machine" not in whole.meta.get(
        "synthetic", {}
    )


def test_a_circle_is_harmless_only_where_precedence_is_dropped():
    data = v15()
    _spec(data)["tasks"][0]["parents"] = ["c"]
    assert len(flat(data, "x").tasks) == 4
    with pytest.raises(InstanceError, match=r"^x: .*dependency cycle"):
        problem_from_wfformat(data, "x")
    _spec(data)["tasks"][3]["inputFiles"].append("all")
    with pytest.raises(InstanceError, match="x: dependency cycle of tasks"):
        problem_from_wfformat(data, "x")


def _runs(data: dict[str, Any]) -> list[dict[str, Any]]:
    return data["workflow"]["execution"]["tasks"]


def _machines(data: dict[str, Any], *told: tuple[str, int | None]) -> dict[str, Any]:
    """*data* with machines of these names and cores."""
    data["workflow"]["execution"]["machines"] = [
        {"nodeName": name}
        if cores is None
        else {"nodeName": name, "cpu": {"coreCount": cores}}
        for name, cores in told
    ]
    return data


def test_the_machines_of_the_file_are_the_nodes_unless_others_are_asked_for():
    """x has 8 cores, y 2; a task takes one core unless the file says more."""
    data = _machines(v15(), ("x", 8), ("y", 2))

    def nodes(**machine: Any) -> list[tuple[str, int]]:
        problem = problem_from_wfformat(data, "w", machine=Machine(**machine))
        return [(node.id, node.cores) for node in problem.nodes]

    assert nodes() == nodes(disk="1GB") == [("x", 8), ("y", 2)]
    assert nodes(cores=5) == [("x", 5), ("y", 5)]
    assert nodes(nodes=3) == [("n0", 1), ("n1", 1), ("n2", 1)]
    _machines(data, ("x", 8), ("y", 8))
    assert nodes(nodes=3) == [("n0", 8), ("n1", 8), ("n2", 8)]
    batch = flat(data, "w")
    assert [(node.id, node.cores) for node in batch.nodes] == [("x", 1), ("y", 1)]
    told = problem_from_wfformat(data, "w")
    assert _said(
        told, "the nodes are the 2 machines that the file names, with their cores"
    )
    assert "4 nodes" not in told.meta["synthetic"]["machine"]


def test_machines_narrower_than_a_task_and_odd_ones_are_told():
    data = _machines(v15(), ("x", 2), ("y", None))
    _runs(data)[1]["coreCount"] = 6
    problem = problem_from_wfformat(data, "w")
    assert [node.cores for node in problem.nodes] == [6, 6]
    assert _said(
        problem,
        "the machines have at most 2 cores, raised to the 6 that one task takes",
    )
    problem = problem_from_wfformat(_machines(v15(), ("x", 0), ("y", 4), ("y", 4)), "w")
    assert [(node.id, node.cores) for node in problem.nodes] == [("x", 1), ("y", 4)]
    assert _said(
        problem,
        "a machine's coreCount is no whole number of 1 or more, and not used: x",
    )
    assert _said(problem, "a machine that is listed twice was taken once: y")


def test_a_version_as_a_number_is_read_and_a_file_listed_twice_is_told():
    data = v15()
    data["schemaVersion"] = 1.5
    _spec(data)["files"].append({"id": "nt", "sizeInBytes": 500})
    problem = problem_from_wfformat(data, "w")
    assert problem.meta["source"] == "WfFormat 1.5" and len(problem.files) == 7
    assert _said(problem, "a file that is listed twice was taken once: nt")


def test_neither_files_nor_precedence_is_warned_of():
    data = v15()
    assert not _said(problem_from_wfformat(data, "w"), "neither files")
    for task in _spec(data)["tasks"]:
        task.update(inputFiles=[], outputFiles=[], parents=[], children=[])
    assert _said(
        problem_from_wfformat(data, "w"), "neither files nor precedence: all tasks are"
    )
    _spec(data)["tasks"][1]["parents"] = ["s"]
    assert not _said(problem_from_wfformat(data, "w"), "neither files")


def _broken(change) -> dict[str, Any]:
    data = v15()
    change(data)
    return data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "wanted an object, not \\[\\]"),
        ({}, "wanted one of 1.4, 1.5, 1.6, not None"),
        (
            {"schemaVersion": "1.3"},
            "not '1.3'; WfCommons' wfcommons-migrate-instance.py",
        ),
        ({"schemaVersion": 1.45}, "wanted one of 1.4, 1.5, 1.6, not 1.45"),
        ({"schemaVersion": True}, "wanted one of 1.4, 1.5, 1.6, not True"),
        (
            _broken(lambda d: _runs(d).append({"id": "b1", "runtimeInSeconds": 7})),
            r"execution: task 'b1' is given twice \(2 s and 7 s\)",
        ),
        (
            _broken(lambda d: _runs(d).append({"id": "b1"})),
            r"twice \(2 s and no run time\)",
        ),
        (
            _broken(lambda d: _spec(d)["tasks"].append(_spec(d)["tasks"][0])),
            "'s' is given twice",
        ),
        (
            _broken(lambda d: _machines(d, ("x", 4), ("x", 8))),
            "machine 'x' is given twice, with other cores",
        ),
        ({"schemaVersion": "1.5"}, "workflow: .*must be an object"),
        ({"schemaVersion": "1.5", "workflow": {"specification": {}}}, "no tasks"),
        (_broken(lambda d: _spec(d)["tasks"][1].update(id="s")), "'s' is given twice"),
        (
            _broken(lambda d: _spec(d)["tasks"][1].update(id=7)),
            r"tasks\[1\] \(7\).id: .*valid string, not 7",
        ),
        (
            _broken(lambda d: _spec(d)["files"][0].update(sizeInBytes=-1)),
            "sizeInBytes: must be 0 or more, not -1",
        ),
        (
            _broken(lambda d: _spec(d)["files"][0].update(sizeInBytes="9")),
            "sizeInBytes.*not '9'",
        ),
        (
            _broken(lambda d: _spec(d)["files"][0].update(sizeInBytes=1e300)),
            "sizeInBytes: must be .* or less, not 1e",
        ),
        (
            _broken(lambda d: _spec(d)["files"].append({"id": "nt", "sizeInBytes": 1})),
            "500 and 1",
        ),
        (
            _broken(
                lambda d: d["workflow"]["execution"]["tasks"][0].update(
                    runtimeInSeconds=10**400
                )
            ),
            "runtimeInSeconds: must be .* or less",
        ),
    ],
)
def test_refusals_name_the_file_and_the_place(data, words):
    with pytest.raises(InstanceError, match=words) as caught:
        flat(data, "flow.json")
    assert str(caught.value).startswith("flow.json: ")


def test_export_keeps_ids_apart_that_the_schema_would_merge():
    data = json.loads(
        json.dumps(v15()).replace('"p1"', '"a/b"').replace('"p2"', '"a-b"')
    )
    document = export_wfformat(flat(data, "x"))
    ids = [file["id"] for file in document["workflow"]["specification"]["files"]]
    assert len(set(ids)) == 6 and {"a-b", "a-b.2"} <= set(ids)


def _said(problem: ReplicationProblem, words: str) -> list[str]:
    return [
        text.removeprefix("x: ") for text in problem.meta["warnings"] if words in text
    ]


def test_a_workflow_is_kept_whole():
    problem = problem_from_wfformat(v15(), "x")
    assert [task.outputs for task in problem.tasks] == [
        ("p1", "p2"),
        ("o1",),
        ("o2",),
        ("all",),
    ]
    assert problem.predecessors == ((), (0,), (0,), (1, 2))
    assert {file.id for file in problem.files if file.keep} == {"all"}
    assert {file.id: file.bytes for file in problem.files}["all"] == 9
    assert not _said(problem, "precedence")


def test_cores_are_whole_and_the_widest_task_fits():
    data = v15()
    for run, cores in zip(data["workflow"]["execution"]["tasks"], (0, 2.5, 4, None)):
        run["coreCount"] = cores
    problem = problem_from_wfformat(data, "x")
    assert [task.cores for task in problem.tasks] == [1, 3, 4, 1]
    assert {node.cores for node in problem.nodes} == {4}
    assert "4 nodes, 4 cores each, disk" in _said(problem, "machine assumed")[0]
    assert _said(problem, "cores were") == [
        "cores were rounded up to a whole number of 1 or more, in task: s and 1 more"
    ]
    assert (
        problem_from_wfformat(data, "x", machine=Machine(cores=8)).nodes[0].cores == 8
    )
    assert _said(flat(data, "x"), "cores are dropped")


def test_precedence_without_a_file_is_kept_by_a_file_of_no_bytes():
    data = v15()
    _spec(data)["tasks"][3]["parents"] = ["s", "b1"]  # cat reads nothing of split
    problem = problem_from_wfformat(data, "x")
    assert problem.predecessors == ((), (0,), (0,), (0, 1, 2))
    assert problem.tasks[0].outputs == ("p1", "p2", "s has ended")
    assert {f.id: (f.bytes, f.keep) for f in problem.files}["s has ended"] == (0, False)
    assert "1 stand for precedence" in problem.meta["synthetic"]["files of 0 bytes"]


def test_versions_of_a_file_that_several_tasks_write():
    """b1 and b2 both write ``o``; b2 waits for b1, cat for b2;
    split comes before both.
    """
    text = json.dumps(v15()).replace('"o1"', '"o"').replace('"o2"', '"o"')
    data = json.loads(text.replace('"sizeInBytes": 6', '"sizeInBytes": 7'))
    blast = _spec(data)["tasks"]
    blast[2]["parents"] = ["s", "b1"]
    blast[3].update(inputFiles=["o"], parents=["b2"])
    blast[2]["inputFiles"].append("o")  # b2 extends what b1 wrote
    blast[0]["inputFiles"].append("o")  # split saw what was there before
    problem = problem_from_wfformat(data, "x")
    read = {task.id: task.inputs for task in problem.tasks}
    assert {task.id: task.outputs for task in problem.tasks}["b1"] == ("o (2)",)
    assert (read["s"][-1], read["b2"][-1], read["c"]) == ("o", "o (2)", ("o (3)",))
    assert {f.id: f.bytes for f in problem.files}["o (3)"] == 7
    assert _said(problem, "versions") == [] and _said(
        problem, "one file per version"
    ) == [
        "a file written by several tasks was split into one file per version, "
        "all of its "
        "last size: o"
    ]


def test_a_task_that_reads_what_it_writes_reads_what_was_there_before():
    data = v15()
    _spec(data)["tasks"][3]["inputFiles"].append("all")
    problem = problem_from_wfformat(data, "x")
    assert problem.tasks[3].inputs == ("o1", "o2", "all")
    assert problem.tasks[3].outputs == ("all (2)",)
    assert _said(problem, "before and after the write: all")


def test_a_whole_workflow_is_exported_and_read_back():
    data = v15()
    data["workflow"]["execution"]["tasks"][1]["coreCount"] = 2
    problem = problem_from_wfformat(data, "x", machine=Machine(cores=2))
    for read, made in ((problem_from_wfformat, problem), (flat, flat(data, "x"))):
        again = read(
            export_wfformat(made), "y", machine=Machine(cores=made.nodes[0].cores)
        )
        assert (again.tasks, again.files, again.nodes) == (
            made.tasks,
            made.files,
            made.nodes,
        )
    assert left_out(problem) == ["rates of links and storage", "which files are kept"]


@pytest.mark.parametrize(
    "path", shared_files("data/wfformat"), ids=lambda path: path.stem
)
def test_real_workflows(path):
    document = json.loads(path.read_text())["workflow"]["specification"]
    problem = read_wfformat(str(path), flatten=True)
    assert len(problem.tasks) == len(document["tasks"])
    sizes = {file["id"]: file["sizeInBytes"] for file in document["files"]}
    read = {name for task in document["tasks"] for name in task["inputFiles"]}
    assert {file.id: file.bytes for file in problem.files} == {
        name: sizes[name] for name in read
    }


def test_memory_is_read_and_written_back():
    data = v15()
    _runs(data)[0]["memoryInBytes"] = 2_500_000_000.5
    _runs(data)[1]["memoryInBytes"] = -1
    problem = problem_from_wfformat(data, "w.json")
    memory = [task.memory_bytes for task in problem.tasks]
    assert sorted(memory)[-2:] == [0, 2_500_000_001]
    assert _said(problem, "negative memoryInBytes")
    again = problem_from_wfformat(export_wfformat(problem), "w.json")
    assert [task.memory_bytes for task in again.tasks] == memory
    flat = problem_from_wfformat(data, "w.json", flatten=True)
    assert not any(task.memory_bytes for task in flat.tasks)
