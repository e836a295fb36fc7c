"""IMAGE, SAT and PPA workloads: the figures of Section 5.1, the overlap
wanted, seeds, refusals.
"""

import itertools
from collections import Counter

import pytest

from ioopt.errors import UsageError
from ioopt.generate.replication import workflows
from ioopt.generate.replication.generate import (
    generate,
    hilbert_index,
    overlap_a,
    overlap_b,
)
from ioopt.generate.replication.settings import PRESETS

MB = 1_000_000


def test_overlap_statistics_by_hand():
    # 3 + 3 requests for 4 distinct files: A = 1 - 4/6. The two share 2
    # of 3 files: B = 2/3.
    requests = [(0, 1, 2), (1, 2, 3)]
    assert overlap_a(requests) == pytest.approx(1 / 3)
    assert overlap_b(requests, (0, 0)) == pytest.approx(2 / 3)
    # A hot spot of its own for each: nobody to share with.
    assert overlap_b(requests, (0, 1)) == 0.0


def test_overlap_b_is_the_mean_over_pairs():
    requests = [(0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 4, 5)]
    pairs = list(itertools.combinations(requests, 2))
    shared = sum(len(set(a) & set(b)) for a, b in pairs) / len(pairs)
    assert overlap_b(requests, (0,) * 4) == pytest.approx(shared / 3)


@pytest.mark.parametrize("preset", PRESETS)
def test_same_seed_same_instance(preset):
    first, second = generate(preset, {}, 7), generate(preset, {}, 7)
    assert first == second
    assert generate(preset, {}, 8).tasks != first.tasks


@pytest.mark.parametrize("preset", PRESETS)
def test_every_task_fits_and_computes_a_millisecond_per_mb(preset):
    problem = generate(preset, {}, 3)
    disk = problem.nodes[0].disk_bytes
    for k, task in enumerate(problem.tasks):
        size = problem.task_bytes(k)
        assert size > 0 and (disk is None or size <= disk)
        assert task.compute_seconds == pytest.approx(0.001 * size / MB)
    assert all(problem.readers), "only files that are read belong into the instance"


@pytest.mark.parametrize(
    ("preset", "wanted", "tolerance"),
    [
        ("image-85", 0.85, 0.005),
        ("image-40", 0.40, 0.01),
        ("image-0", 0.0, 0),
        ("image-85-follow-up", 0.85, 0.015),
        ("image-85-windows", 0.85, 0.015),
        ("bipartite-85", 0.85, 0.015),
        ("ppa", 0.85, 0.002),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_image_and_ppa_overlap_is_statistic_a(preset, wanted, tolerance, seed):
    meta = generate(preset, {}, seed).meta
    assert abs(meta["overlap_a"] - wanted) <= tolerance


@pytest.mark.parametrize(
    ("preset", "wanted", "tolerance"),
    [("sat-85", 0.85, 0.03), ("sat-40", 0.40, 0.02), ("sat-10", 0.10, 0.02)],
)
@pytest.mark.parametrize("seed", range(3))
def test_sat_overlap_is_statistic_b(preset, wanted, tolerance, seed):
    meta = generate(preset, {}, seed).meta
    assert abs(meta["overlap_b"] - wanted) <= tolerance


@pytest.mark.parametrize(
    ("preset", "tasks", "disk", "files"),
    [
        ("image-85", 100, 500, 6),
        ("image-40", 100, 500, 6),
        ("image-0", 100, 500, 6),
        ("sat-85", 100, 1500, 8),
        ("sat-40", 100, 1500, 14),
        ("sat-10", 100, 1500, 14),
        ("ppa", 500, 500, 1),
    ],
)
def test_presets_are_those_of_sections_5_1_and_5_2(preset, tasks, disk, files):
    """4 nodes, 100 Mbps shared, 8 Gbps between nodes; disks and files a task."""
    problem = generate(preset, {}, 0)
    assert (len(problem.tasks), len(problem.nodes)) == (tasks, 4)
    assert {node.disk_bytes for node in problem.nodes} == {disk * MB}
    assert problem.network.remote_link == "shared"
    assert problem.network.remote_bytes_per_second == 100e6 / 8
    assert problem.network.replica_bytes_per_second == 8e9 / 8
    read = [len(inputs) for inputs in problem.inputs]
    assert sum(read) / tasks == pytest.approx(files, abs=0.3)


def test_data_sets_are_those_of_section_5_1():
    """SAT: 20 days of 25 cells, 25 GB in files of 50 MB; IMAGE: 2000 patients; IMAGE
    and PPA: files of 4 and 64 MB.
    """
    sat = generate("sat-10", {"tasks": "1000"}, 0)
    names = {file.id for file in sat.files}
    assert {file.bytes for file in sat.files} == {50 * MB}
    assert len({name[4:] for name in names}) == 20
    # Four hot spots of 6 of the 25 cells: 480 of 500 files can be asked for.
    assert len(names) == 480
    assert PRESETS["image-85-follow-up"]().cohort == 2000
    for preset in ("image-85", "ppa"):
        sizes = {file.bytes for file in generate(preset, {}, 0).files}
        assert sizes == {4 * MB, 64 * MB}


def test_files_are_spread_over_the_storage_nodes():
    """PPA: round robin; SAT: along the Hilbert curve; IMAGE: for each patient round
    robin by date.
    """
    asked = {"storage_rate": "20MB/s"}
    for file in generate("ppa", asked, 0).files:
        assert file.storage == f"s{int(file.id[1:]) % 4}"
    cells = list(itertools.product(range(5), range(5), range(20)))
    along = sorted(cells, key=lambda cell: hilbert_index(cell, 5))
    for file in generate("sat-40", asked, 0).files:
        x, y, day = int(file.id[1]), int(file.id[3]), int(file.id[5:])
        assert file.storage == f"s{along.index((x, y, day)) % 4}"
    for preset in ("image-40", "image-85-follow-up"):
        turns = {}
        for file in generate(preset, asked, 0).files:
            turn = (int(file.storage[1:]) - int(file.id[6:9])) % 4
            turns.setdefault(file.id[:5], set()).add(turn)
        assert all(len(found) == 1 for found in turns.values())


def test_image_is_about_six_files_and_300_mb_a_task():
    problem = generate("image-85", {}, 0)
    count = len(problem.tasks)
    assert count == 100 and len(problem.nodes) == 4
    assert {file.bytes for file in problem.files} == {4 * MB, 64 * MB}
    assert 5.5 <= sum(map(len, problem.inputs)) / count <= 6.5
    assert 270 * MB <= sum(map(problem.task_bytes, range(count))) / count <= 330 * MB


def test_image_tasks_read_some_patients_of_a_cohort_over_dates():
    problem = generate("image-85", {}, 0)
    for task in problem.tasks:
        patients = {name[:5] for name in task.inputs}
        dates = sorted({int(name[6:9]) for name in task.inputs})
        assert len(patients) <= 2 and dates == list(range(dates[0], dates[-1] + 1))
    assert len({file.id[:5] for file in problem.files}) == 6


def test_follow_up_grows_by_patients_not_by_dates():
    counts = {}
    for tasks in (100, 400):
        problem = generate("image-85-follow-up", {"tasks": tasks}, 0)
        patients = {file.id[:5] for file in problem.files}
        assert {int(file.id[6:9]) for file in problem.files} <= set(range(15))
        for task in problem.tasks:
            dates = sorted({int(name[6:9]) for name in task.inputs})
            assert len({name[:5] for name in task.inputs}) <= 2
            assert dates == list(range(dates[0], dates[-1] + 1))
        counts[tasks] = len(patients)
    # .15 x 6 requests a task are distinct: 90 and 360 images, over 15 dates
    # 6 and 24 patients.
    assert 5 <= counts[100] <= 9 and 20 <= counts[400] <= 32


def test_windows_take_patients_that_stand_together():
    """Files are listed date by date, so that the first ones name the
    patients in their order.
    """
    problem = generate("image-85-windows", {"ct_share": "0"}, 0)
    rows = {}
    for file in problem.files:
        rows.setdefault(file.id[6:9], []).append(file.id[:5])
    order = max(rows.values(), key=len)
    for task in problem.tasks:
        places = sorted({order.index(name[:5]) for name in task.inputs})
        assert places == list(range(places[0], places[0] + 2))


def test_bipartite_reads_single_files_by_popularity():
    problem = generate("bipartite-85", {}, 0)
    assert {file.id[6:9] for file in problem.files} == {"000"}
    counts = sorted(map(len, problem.readers))
    # Odds of 1 / rank: the most popular of about 90 files is in nearly every task.
    assert counts[-1] >= 60 and counts[0] <= 5


def test_follow_up_asks_more_often_for_some_patients():
    def share(popularity):
        """Requests for the patient asked for most, over all requests."""
        problem = generate(
            "image-85-follow-up", {"tasks": 400, "popularity": popularity}, 0
        )
        requests = Counter(name[:5] for task in problem.tasks for name in task.inputs)
        return max(requests.values()) / requests.total()

    # Two of about 25 patients a task: 1/25 each, evenly; under odds of 1 / rank the
    # first is in about two tasks of five.
    assert share("0") < 0.08 and share("1") > 0.12


@pytest.mark.parametrize("preset", ["image-85", "sat-40", "ppa"])
def test_submission_order_is_the_same_batch_hot_spot_by_hot_spot(preset):
    drawn, sent = (
        generate(preset, {"order": order}, 3) for order in ("random", "submission")
    )
    key = sorted([task.inputs for task in problem.tasks] for problem in (drawn, sent))
    assert sorted(key[0]) == sorted(key[1])
    position = {file.id: at for at, file in enumerate(sent.files)}
    first = [position[task.inputs[0]] for task in sent.tasks]
    if preset == "sat-40":  # 25 tasks a hot spot, along the curve in each
        assert all(
            first[at : at + 25] == sorted(first[at : at + 25])
            for at in range(0, 100, 25)
        )
    else:
        assert first == sorted(first)
    assert [task.inputs for task in drawn.tasks] != [task.inputs for task in sent.tasks]


@pytest.mark.parametrize(
    ("preset", "wanted", "cells"), [("sat-85", 0.85, 4), ("sat-10", 0.12, 1)]
)
def test_sat_windows_are_boxes_in_space_and_time(preset, wanted, cells):
    problem = generate(preset, {"windows": "box"}, 1)
    assert abs(problem.meta["overlap_b"] - wanted) <= 0.025
    for task in problem.tasks:
        places = {(int(name[1]), int(name[3])) for name in task.inputs}
        days = sorted({int(name[5:7]) for name in task.inputs})
        assert len(places) == cells and days == list(range(days[0], days[-1] + 1))
        assert all(max(row) - min(row) <= 1 for row in zip(*places))


def test_sat_has_four_hot_spots_that_share_nothing():
    problem = generate("sat-85", {}, 0)
    sets = [set(files) for files in problem.inputs]
    spots = [set().union(*sets[spot::4]) for spot in range(4)]
    assert all(not a & b for a, b in itertools.combinations(spots, 2))
    assert {file.bytes for file in problem.files} == {50 * MB}


def test_cap_shortens_tasks_and_may_differ_from_the_disk():
    tight = generate("image-85", {"disk": "300MB"}, 1)
    assert max(map(tight.task_bytes, range(100))) <= 300 * MB
    same = generate("image-85", {"disk": "2GB", "cap": "300MB"}, 1)
    assert same.tasks == tight.tasks and same.nodes[0].disk_bytes == 2000 * MB


@pytest.mark.parametrize("cap", ["400MB", "none"])
def test_an_instance_that_no_node_can_run_is_refused(cap):
    with pytest.raises(UsageError, match=r"image-85, seed 1: a task needs \d+ bytes"):
        generate("image-85", {"disk": "200MB", "cap": cap}, 1)
    assert generate("image-85", {"disk": "unlimited", "cap": cap}, 1).tasks


def test_settings_reach_the_instance():
    problem = generate(
        "ppa",
        {
            "tasks": "40",
            "nodes": "3",
            "disk": "unlimited",
            "link": "per-node",
            "storage_rate": "20MB/s",
            "remote_rate": "100Mbps",
            "replica_rate": "1GB/s",
            "storage_nodes": "2",
        },
        0,
    )
    assert (len(problem.tasks), len(problem.nodes), problem.nodes[0].disk_bytes) == (
        40,
        3,
        None,
    )
    assert problem.network.remote_link == "per-node"
    assert problem.network.remote_bytes_per_second == 12.5e6
    assert [s.bytes_per_second for s in problem.storages] == [20e6, 20e6]
    assert {file.storage for file in problem.files} == {"s0", "s1"}


@pytest.mark.parametrize(
    ("preset", "settings", "words"),
    [
        ("image-58", {}, "did you mean 'image-85'"),
        ("ppa", {"files_per_task": "2"}, "no setting 'files_per_task'"),
        ("image-85", {"disk": "500XB"}, "500XB"),
        ("image-85", {"disk": "1MB"}, "does not fit in 1000000 bytes"),
        ("ppa", {"disk": "1MB"}, "does not fit in 1000000 bytes"),
        ("image-85", {"overlap": "85"}, "overlap"),
        ("image-85", {"patients_per_task": "0"}, "patients_per_task"),
        ("image-85", {"dates": "15"}, "no setting 'dates'"),
        ("image-85-follow-up", {"dates": "0"}, "dates"),
        ("image-85-follow-up", {"popularity": "-1"}, "popularity"),
        ("sat-85", {"files_per_task": "200"}, "larger than a hot spot"),
        ("image-85", {"tasks": "0"}, "tasks"),
        ("chains", {"disk": "1MB"}, "more than the disk of 1000000"),
        ("chains", {"task_cores": 5}, "task_cores 5 is more than the cores 4"),
        ("chains", {"disk_share": 0.5}, "disk_share"),
        ("chains", {"chains": 1000, "length": 10}, "more than 2000 tasks"),
        ("chains", {"width": 3}, "no setting 'width'"),
    ],
)
def test_refusals(preset, settings, words, monkeypatch):
    monkeypatch.setattr(workflows, "MAX_TASKS", 2000)
    with pytest.raises(UsageError, match=words):
        generate(preset, settings, 0)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_hilbert_curve_visits_all_and_moves_one_step(dimensions):
    points = list(itertools.product(range(4), repeat=dimensions))
    order = sorted(points, key=lambda point: hilbert_index(point, 2))
    assert sorted(hilbert_index(point, 2) for point in points) == list(
        range(len(points))
    )
    for here, there in itertools.pairwise(order):
        assert sum(abs(a - b) for a, b in zip(here, there)) == 1
