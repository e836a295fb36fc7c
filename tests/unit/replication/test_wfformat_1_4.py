"""WfFormat 1.4: one list of tasks, with their files, parents by name
and machines beside it.
"""

import copy
from typing import Any

import pytest
from conftest import shared_root

from ioopt.errors import InstanceError
from ioopt.formats.native import read_json
from ioopt.formats.wfformat.instance import problem_from_wfformat, read_wfformat


def v14() -> dict[str, Any]:
    """split_1 -> (blast_2, blast_3); blast_3 waits without reading."""
    return {
        "name": "blast",
        "schemaVersion": "1.4",
        "wms": {"name": "hand", "version": "1"},
        "workflow": {
            "makespanInSeconds": 9,
            "executedAt": "2020-01-01T00:00:00Z",
            "tasks": [
                {
                    "name": "split_1",
                    "id": "1",
                    "type": "compute",
                    "runtimeInSeconds": 1.5,
                    "cores": 2,
                    "parents": [],
                    "children": ["blast_2"],
                    "files": [
                        {"link": "input", "name": "fasta", "sizeInBytes": 10},
                        {"link": "output", "name": "part", "sizeInBytes": 3},
                    ],
                },
                {
                    "name": "blast_2",
                    "id": "2",
                    "type": "compute",
                    "runtimeInSeconds": 4,
                    "parents": ["split_1"],
                    "children": [],
                    "files": [
                        {"link": "input", "name": "part", "sizeInBytes": 3},
                        {
                            "link": "output",
                            "path": "out/",
                            "name": "hits",
                            "sizeInBytes": 6,
                        },
                    ],
                },
                {
                    "name": "blast",
                    "id": "3",
                    "type": "compute",
                    "parents": ["split_1"],
                    "children": [],
                    "files": [],
                },
            ],
            "machines": [{"nodeName": "big", "cpu": {"count": 16, "speed": 2400}}],
        },
    }


def test_tasks_files_precedence_and_machines_are_those_of_the_file():
    problem = problem_from_wfformat(v14(), "w")
    rows = [
        (t.id, t.compute_seconds, t.cores, t.inputs, t.outputs) for t in problem.tasks
    ]
    assert rows == [
        ("split_1", 1.5, 2, ("fasta",), ("part", "split_1 has ended")),
        ("blast_2", 4, 1, ("part",), ("out/hits",)),
        ("blast_3", 0, 1, ("split_1 has ended",), ()),
    ]
    assert {file.id: file.bytes for file in problem.files} == {
        "fasta": 10,
        "part": 3,
        "out/hits": 6,
        "split_1 has ended": 0,
    }
    assert problem.predecessors == ((), (0,), (0,))
    assert [(node.id, node.cores) for node in problem.nodes] == [("big", 16)]
    assert problem.meta["source"] == "WfFormat 1.4"


def test_the_version_may_be_a_number_and_parents_may_be_old_ids():
    data = v14()
    data["schemaVersion"] = 1.4
    data["workflow"]["tasks"][1]["parents"] = ["1"]
    same = problem_from_wfformat(v14(), "w")
    assert problem_from_wfformat(data, "w") == same


def test_the_cores_of_a_machine_may_have_their_newer_name():
    data = v14()
    data["workflow"]["machines"] = [{"nodeName": "big", "cpu": {"coreCount": 12}}]
    problem = problem_from_wfformat(data, "w")
    assert [(node.id, node.cores) for node in problem.nodes] == [("big", 12)]


def _changed(place: int, **keys: Any) -> dict[str, Any]:
    data = copy.deepcopy(v14())
    data["workflow"]["tasks"][place].update(keys)
    return data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            _changed(1, name="split_1", id="2"),
            r"task 'split_1' refers to 'split_1', the name of 2",
        ),
        (_changed(1, name="split_1", id="1"), r"the name of 2 tasks"),
        (_changed(1, id="1", name="split_1", parents=[]), "the name of 2 tasks"),
        (
            _changed(0, files=[{"link": "inout", "name": "x"}]),
            r"link: .*'input' or 'output'",
        ),
        (
            _changed(0, files=[{"link": "input", "name": "x", "sizeInBytes": -1}]),
            "0 or more",
        ),
        (_changed(0, runtimeInSeconds="7"), "runtimeInSeconds"),
        ({"schemaVersion": "1.4"}, "workflow: .*must be an object"),
        ({"schemaVersion": "1.4", "workflow": {}}, "no tasks"),
    ],
)
def test_what_does_not_hold_together_is_refused(data: dict[str, Any], words: str):
    with pytest.raises(InstanceError, match=words):
        problem_from_wfformat(data, "w")


def test_two_tasks_of_one_name_and_id_are_refused():
    data = _changed(1, id="3", name="blast", parents=[])
    with pytest.raises(InstanceError, match="task id 'blast_3' is given twice"):
        problem_from_wfformat(data, "w")


def test_a_file_of_two_sizes_has_the_largest_and_says_so():
    data = v14()
    data["workflow"]["tasks"][1]["files"][0]["sizeInBytes"] = 5
    problem = problem_from_wfformat(data, "w")
    assert {file.id: file.bytes for file in problem.files}["part"] == 5
    assert any(
        "of several sizes has the largest of them: part" in w for w in problem.warnings
    )


def test_recorded_graphs_have_the_precedence_and_the_bytes_of_the_file():
    """Counted again from the raw JSON: names, parents and the sums of
    sizes, each file once.
    """
    paths = sorted(shared_root().glob("data/recorded-runs/*/wfformat-1.4.json.gz"))
    if not paths:
        pytest.skip(
            "recorded-runs is not here (set IOOPT_SHARED to the folder that holds it)"
        )
    for path in paths:
        tasks = read_json(path)["workflow"]["tasks"]
        problem = read_wfformat(str(path))
        names = [task.id for task in problem.tasks]
        assert names == [task["name"] for task in tasks]
        before = [{names[k] for k in earlier} for earlier in problem.predecessors]
        for task, found in zip(tasks, before, strict=True):
            assert set(task["parents"]) <= found
        sizes = {}
        for task in tasks:
            for file in task["files"]:
                sizes[file["name"]] = file["sizeInBytes"]
        made = {
            file.id: file.bytes for file in problem.files if "has ended" not in file.id
        }
        assert made == sizes
