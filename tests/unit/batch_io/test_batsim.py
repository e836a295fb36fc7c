"""Batsim workloads: the three dialects, every profile type by hand, refusals,
and the two writers.
"""

import csv
import io
import json
from typing import Any

import pytest
from conftest import present, shared_path

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.batsim.profiles import Platform
from ioopt.formats.batsim.workload import (
    JOB_COLUMNS,
    batch_io_from_batsim,
    export_batsim,
    jobs_csv,
    read_batsim,
)
from ioopt.formats.io_rule import MachineRule

PLATFORM = Platform(flops=1e6, network_bytes_per_second=1e6)


def workload(profile: dict[str, Any], res: int = 2, **more: Any) -> dict[str, Any]:
    job = {"id": "a", "subtime": 3, "walltime": 60, "res": res, "profile": "p"}
    profiles = {
        "p": profile,
        "wait": {"type": "delay", "delay": 4},
        **more.pop("others", {}),
    }
    return {"nb_res": 8, "jobs": [job], "profiles": profiles, **more}


def phases(
    profile: dict[str, Any], res: int = 2, **more: Any
) -> list[tuple[float, float, int]]:
    made = batch_io_from_batsim(
        workload(profile, res, **more), "w.json", platform=PLATFORM
    )
    return [(p.compute_seconds, p.io_bytes, p.repeat) for p in made.jobs[0].phases]


SPREAD = {"generation_strategy": "DefinedAmountsSpreadUniformly"}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"type": "delay", "delay": 20.2}, [(20.2, 0, 1)]),
        ({"type": "DelayProfile", "delay": 5}, [(5, 0, 1)]),
        # Node 0 computes 5 s; node 1 sends 3 MB and receives 1 MB; what it
        # tells itself is free.
        (
            {"type": "ParallelTaskProfile", "cpu": [5e6, 0], "com": [0, 1e6, 3e6, 9e6]},
            [(5, 0, 1)],
        ),
        ({"type": "ptask", "com": [0, 1e6, 3e6, 9e6]}, [(3, 0, 1)]),
        ({"type": "parallel", "cpu": [1e6, 2e6]}, [(2, 0, 1)]),
        # com goes to each of the other nodes, of which there is one.
        (
            {"type": "ParallelTaskHomogeneousProfile", "cpu": 1e6, "com": 4e6},
            [(4, 0, 1)],
        ),
        ({"type": "parallel_homogeneous", "cpu": 7e6, "com": 4e6}, [(7, 0, 1)]),
        # Totals: 6e6 / 2 operations a node, 4e6 / 2 bytes from each node.
        (
            {
                "type": "ParallelTaskHomogeneousProfile",
                "cpu": 6e6,
                "com": 4e6,
                **SPREAD,
            },
            [(3, 0, 1)],
        ),
        ({"type": "parallel_homogeneous_total", "cpu": 2e6, "com": 4e6}, [(2, 0, 1)]),
        # Burst buffer: 100 bytes a node in, compute, 100 bytes a node out.
        (
            {"type": "parallel_homogeneous", "cpu": 2e6, "com": 0, "bb": 100},
            [(0, 200, 1), (2, 200, 1)],
        ),
        (
            {
                "type": "ptask_on_storage_homogeneous",
                "bytes_to_read": 10,
                "bytes_to_write": 5,
                "storage": "pfs0",
            },
            [(0, 30, 1)],
        ),
        (
            {
                "type": "ParallelTaskOnStorageHomogeneousProfile",
                "bytes_to_read": 10,
                **SPREAD,
            },
            [(0, 10, 1)],
        ),
        ({"type": "parallel_homogeneous_pfs", "bytes_to_write": 10}, [(0, 20, 1)]),
        (
            {"type": "data_staging", "nb_bytes": 77, "from": "pfs", "to": "nfs"},
            [(0, 77, 1)],
        ),
        (
            {
                "type": "SequentialCompositionProfile",
                "repeat": 4,
                "seq": ["wait", "wait"],
            },
            [(32, 0, 1)],
        ),
        ({"type": "composed", "seq": ["wait", "out"], "repeat": 3}, [(4, 20, 3)]),
        (
            {"type": "composed", "seq": ["out", "wait"], "repeat": 2},
            [(0, 20, 1), (4, 20, 1), (4, 0, 1)],
        ),
        # "nb" is what "repeat" was called: 4 x 4 s.
        ({"type": "composed", "seq": ["wait"], "nb": 4}, [(16, 0, 1)]),
        ({"type": "composed", "seq": ["wait"], "nb": 4, "repeat": 4}, [(16, 0, 1)]),
        ({"type": "sequential_composition", "seq": ["wait"], "repeat": 2}, [(8, 0, 1)]),
        # 2 nodes: 4 MB to the other one, 4 s; in total 6e6 / 2 operations and 4 MB / 2.
        ({"type": "ptask_homogeneous", "cpu": 1e6, "com": 4e6}, [(4, 0, 1)]),
        (
            {
                "type": "ptask_homogeneous",
                "cpu": 6e6,
                "com": 4e6,
                "generation_strategy": "defined_amount_spread_uniformly",
            },
            [(3, 0, 1)],
        ),
        (
            {
                "type": "ptask_homogeneous",
                "cpu": 6e6,
                "com": 4e6,
                "generation_strategy": "defined_amount_used_for_each_value",
            },
            [(6, 0, 1)],
        ),
        ({"type": "msg_par_hg", "cpu": 7e6, "com": 0}, [(7, 0, 1)]),
        (
            {
                "type": "ptask_data_staging_between_storages",
                "nb_bytes": 77,
                "from": "a",
                "to": "b",
            },
            [(0, 77, 1)],
        ),
        ({"type": "composed", "seq": []}, [(0, 0, 1)]),
        ({"type": "composed", "seq": ["wait"], "repeat": 0}, [(0, 0, 1)]),
    ],
)
def test_profile_types_by_hand(
    profile: dict[str, Any], expected: list[tuple[float, float]]
) -> None:
    others = {"out": {"type": "parallel_homogeneous_pfs", "bytes_to_write": 10}}
    assert phases(profile, others=others) == expected


def test_one_node_talks_to_nobody() -> None:
    assert phases({"type": "parallel_homogeneous", "cpu": 1e6, "com": 9e9}, res=1) == [
        (1, 0, 1)
    ]
    assert phases(
        {"type": "parallel_homogeneous_total", "cpu": 1e6, "com": 9e9}, res=1
    ) == [(1, 0, 1)]


REAL = [
    ("ANL-Intrepid-2009-1-small.json", 128, 400, "6"),
    ("KTH-SP2-io-aware-1000.json", 1000, 96, 15),
    ("test_batsim_paper_workload_seed1.json", 800, 32, 0),
    ("test_various_profile_types.json", 11, 4, "delay"),
    ("test_workload_pfs0.json", 6, 4, "0"),
]


@pytest.mark.parametrize(
    ("file", "jobs", "nodes", "first"), present("data/batsim-json", REAL)
)
def test_real_workloads(file: str, jobs: int, nodes: int, first: Any) -> None:
    problem = read_batsim(shared_path("data", "batsim-json", file))
    assert (len(problem.jobs), problem.machine.nodes, problem.jobs[0].id) == (
        jobs,
        nodes,
        first,
    )
    if file.startswith("KTH"):
        # 4 nodes, 3,818,745,460 bytes of burst buffer each; 3354.8e9
        # operations at 1e9 a second.
        job = problem.jobs[0]
        assert [phase.io_bytes for phase in job.phases] == [4 * 3_818_745_460] * 2
        assert job.phases[1].compute_seconds == pytest.approx(3354.80014528)


def test_mixed_ids_become_text_and_missing_walltimes_the_run_time() -> None:
    data = workload({"type": "parallel_homogeneous_pfs", "bytes_to_write": 31.25e6 * 5})
    data["jobs"].append(
        {"id": 7, "subtime": 0, "res": 2, "profile": "p", "walltime": -1}
    )
    made = batch_io_from_batsim(data, "w.json")
    assert [job.id for job in made.jobs] == ["a", "7"]
    # 2 nodes could send 62.5 MB/s, the storage takes 8 * 31.25 * 250/1536 = 40.69 MB/s.
    assert made.jobs[1].walltime_seconds == pytest.approx(312.5e6 / 40_690_104.1667)
    assert any("1 jobs have no walltime" in text for text in made.warnings)


def test_left_out_with_a_warning() -> None:
    data = workload({"type": "delay", "delay": 1})
    data["profiles"]["mpi"] = {"type": "smpi", "trace": "t.txt"}
    data["jobs"] += [
        {"id": "big", "subtime": 0, "res": 9, "profile": "p"},
        {"id": "mpi", "subtime": 0, "res": 1, "profile": "mpi"},
    ]
    made = batch_io_from_batsim(data, "w.json")
    assert [job.id for job in made.jobs] == ["a"]
    said = " ".join(made.warnings)
    assert "larger than the machine of 8 nodes: big" in said
    assert "only Batsim replays: mpi" in said


def test_without_nb_res_the_largest_job_counts() -> None:
    data = workload({"type": "delay", "delay": 1}, res=5)
    del data["nb_res"]
    made = batch_io_from_batsim(data, "w.json")
    assert made.machine.nodes == 5 and "no nb_res" in made.warnings[0]


def broken(**changes: Any) -> dict[str, Any]:
    data = workload({"type": "delay", "delay": 1})
    data["jobs"][0].update(changes)
    return data


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ([], "must be an object, not []"),
        ({"jobs": []}, "profiles: missing"),
        ({"jobs": [], "profiles": {}}, "no nb_res and no job size"),
        ({"nb_res": 4, "jobs": [], "profiles": {}}, "no job that can be used"),
        ({"nb_res": 0, "jobs": [], "profiles": {}}, "nb_res: must be 1 or more, not 0"),
        (broken(res=10**400), "jobs[0] (a).res: must be 1e+18 or less"),
        (
            {"nb_res": 4, "jobs": [3], "profiles": {}},
            "jobs[0]: must be an object, not 3",
        ),
        ({"nb_res": 4, "jobs": [{"id": 1}], "profiles": {}}, "subtime: missing"),
        (broken(id=True), "id: must be a whole number"),
        (broken(id=1.5), "id: must be a whole number"),
        (broken(subtime="soon"), "subtime: must be a finite number, not 'soon'"),
        (broken(subtime=-1), "0 or more"),
        (broken(subtime=10**400), "finite"),
        (broken(res=0), "jobs[0] (a).res: must be 1 or more, not 0"),
        (broken(walltime="long"), "walltime: must be a finite number, not 'long'"),
        (broken(profile="q"), "there is no profile 'q'"),
        (broken(profile=["p"]), "profile: input should be a valid string"),
        (workload({"type": "mystery"}), "not a profile type ioopt knows"),
        (workload({"delay": 3}), "type: missing"),
        (workload({"type": "delay"}), "delay: missing"),
        (workload({"type": "delay", "delay": -1}), "0 or more"),
        (
            workload({"type": "ptask", "cpu": [1]}),
            "wanted 2 numbers for a job of this size, not 1",
        ),
        (workload({"type": "ptask", "cpu": 3}), "wanted 2 numbers"),
        (workload({"type": "composed", "seq": ["p"]}), "contains itself"),
        (
            workload({"type": "composed", "seq": "wait"}),
            "seq: input should be a valid list",
        ),
        (workload({"type": "composed", "seq": ["wait"], "repeat": -1}), "repeat"),
        (
            workload({"type": "composed", "seq": ["wait", "wait"] * 60_000}),
            "more than 100000 phases",
        ),
        (
            workload({"type": "composed", "seq": ["wait"], "nb": 2, "repeat": 3}),
            "profile 'p': nb and repeat: 2 and 3",
        ),
        (
            workload({"type": "composed", "seq": ["wait"], "nb": 1.5}),
            "nb: must be a whole number",
        ),
        (workload({"type": "composed", "nb": 2}), "seq: missing"),
        (
            workload({"type": "ptask_homogeneous", "generation_strategy": "even"}),
            "generation_strategy: wanted DefinedAmountsUsedForEachValue or",
        ),
        (workload({"type": "parallel_homogeneous_pfs", "size": 9}), "both are missing"),
        (workload({"type": "data_staging"}), "nb_bytes: missing"),
        (workload({"type": "ptask"}), "cpu, com: both are missing"),
        (
            workload({"type": "parallel_homogeneous", "bb": 9}),
            "cpu, com: both are missing",
        ),
        (workload(3), "profile 'p': top level: must be an object, not 3"),
    ],
)
def test_refused(data: Any, what: str) -> None:
    with pytest.raises(InstanceError) as caught:
        batch_io_from_batsim(data, "w.json")
    assert what in str(caught.value)


def test_keys_that_are_not_read_are_named_once() -> None:
    data = workload({"type": "composed", "seq": ["wait"], "repaet": 3, "cpu": 7})
    data["jobs"][0]["wall_time"] = 9
    data["jobs"].append(
        {"id": "b", "subtime": 0, "res": 2, "profile": "p", "deadline": 1}
    )
    data["nbres"] = 12
    data["profiles"]["p"].update(ret=1, command="sleep")
    said = [
        text
        for text in batch_io_from_batsim(data, "w.json").warnings
        if "not read" in text
    ]
    assert said == [
        "w.json: key 'nbres' is not read",
        "w.json: key 'deadline' of jobs is not read: b",
        "w.json: key 'wall_time' of jobs is not read (did you mean 'walltime'?): a",
        "w.json: key 'cpu' of profiles is not read: p",
        "w.json: key 'repaet' of profiles is not read (did you mean 'repeat'?): p",
    ]


def test_platform_must_be_positive() -> None:
    with pytest.raises(UsageError, match="flops"):
        Platform(flops=0)


def test_written_then_read_is_equal() -> None:
    others = {"out": {"type": "parallel_homogeneous_pfs", "bytes_to_write": 10}}
    data = workload(
        {"type": "composed", "seq": ["wait", "out"], "repeat": 3}, others=others
    )
    data["jobs"].append(
        {"id": "b", "subtime": 8, "res": 4, "profile": "wait", "walltime": 9}
    )
    problem = batch_io_from_batsim(data, "w.json")
    written = json.loads(json.dumps(export_batsim(problem)))
    again = batch_io_from_batsim(written, "w.json", machine=MachineRule(nodes=8))
    assert again.jobs == problem.jobs and again.machine == problem.machine
    assert again.jobs[0].phases[0].repeat == 3
    data["jobs"][1]["io_bytes_per_second"] = 5e6
    problem = batch_io_from_batsim(data, "w.json")
    assert problem.jobs[1].io_bytes_per_second == 5e6
    written = export_batsim(problem)
    assert batch_io_from_batsim(written, "w.json").jobs == problem.jobs


def test_jobs_csv() -> None:
    problem = batch_io_from_batsim(workload({"type": "delay", "delay": 4}), "w.json")
    schedule = {
        "jobs": [
            {
                "id": "a",
                "start_seconds": 5.0,
                "end_seconds": 9.0,
                "killed": False,
                "io": [],
            }
        ]
    }
    rows = list(csv.DictReader(io.StringIO(jobs_csv(problem, schedule))))
    assert tuple(rows[0]) == JOB_COLUMNS
    row = rows[0]
    # Submitted at 3, runs 5 to 9: waits 2, turnaround 6, stretch 6 / 4.
    assert (row["waiting_time"], row["turnaround_time"], row["stretch"]) == (
        "2.0",
        "6.0",
        "1.5",
    )
    assert (row["success"], row["final_state"]) == ("1", "COMPLETED_SUCCESSFULLY")
    assert row["allocated_resources"] == ""
    placed = {"jobs": [{**schedule["jobs"][0], "nodes": [0, 1, 3]}]}
    assert "0-1 3" in jobs_csv(problem, placed)
    with pytest.raises(InstanceError, match="names a job 'z'"):
        jobs_csv(problem, {"jobs": [{**schedule["jobs"][0], "id": "z"}]})
