"""Large files are read as columns; whatever is odd in them, the answer is that of the
records: the same problem, or the same error.
"""

import copy
import json
import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ioopt
from ioopt.errors import InstanceError
from ioopt.formats import large, native
from ioopt.problems.base import HeldAsColumns

SLOW = range(1000, 3000)
"""Seeds of the slow tests."""
SLOW_MARK = pytest.mark.slow
ODD: list[Any] = [
    *(True, False, None, "", "x", "true", "a:b", '}, {"id"', [], {}, [1], {"id": 1}),
    *(0, -1, 1, 1.0, 1.5, 8e9, -0.0, 1e-13, 10**18 + 1, 2**63, 2**70, 1e19, 4, 5000),
    *("\u00e9", "\ud800", "a\\b", [[]], [0, 0], [True], [1.0], [3, 1], [10**9]),
]
"""Values that some key takes, and others do not."""
TEXTS = ["NaN", "1e999", "-0", "01", "1.", "1e5", '"\\ud800"', '"\\u003a"', "tru"]


def batch_io(random: Random) -> dict[str, Any]:
    """Return an instance of batch I/O, with some of the optional keys."""
    jobs: list[dict[str, Any]] = []
    for k in range(random.randint(1, 8)):
        phases: list[dict[str, Any]] = []
        for _ in range(random.randint(1, 3)):
            phase = {"compute_seconds": random.choice([0, 1.5]), "io_bytes": 7.0}
            if random.random() < 0.7:
                phase["repeat"] = random.randint(1, 3)
            phases.append(phase)
        times = {"submit_seconds": random.uniform(0, 9), "nodes": random.randint(1, 4)}
        job: dict[str, Any] = {
            "id": k,
            **times,
            "walltime_seconds": 50,
            "phases": phases,
        }
        if random.random() < 0.2:
            job |= {"io_bytes_per_second": 2, "user": "ann", "queue": None}
        if random.random() < 0.1:
            job |= {"wait_seconds": 3, "partition": 4}
        jobs.append(job)
    machine = {"nodes": 4, "unit_nodes": 1, "allocation": "flat"}
    machine |= {"node_bytes_per_second": 1.0, "storage_bytes_per_second": 3}
    return _file("batch-io", machine=machine, jobs=jobs)


def gang(random: Random) -> dict[str, Any]:
    """Return a gang workload."""
    jobs: list[dict[str, Any]] = []
    for k in range(random.randint(1, 8)):
        files = random.sample(range(4), random.randint(1, 4))
        times = {"local_seconds": 5, "remote_seconds": random.choice([5, 7.5])}
        job = {"id": k, "arrival_seconds": float(k // 2), "file_nodes": files, **times}
        if random.random() < 0.3:
            job["compute_seconds"] = None
        jobs.append(job)
    machine = {"nodes": 4, "levels": 2, "quantum_seconds": 10}
    return _file("gang", machine=machine, io=None, jobs=jobs)


MAKERS = {"batch-io": batch_io, "gang": gang}


def _file(family: str, **parts: Any) -> dict[str, Any]:
    meta = {"settings": {"jobs": 3}, "note": "a: b"}
    head = {"version": 1, "name": "n", "meta": meta, "format": f"ioopt/{family}"}
    return head | parts


def text_of(data: object, random: Random) -> str:
    """Return *data* as JSON, in one of the forms that writers use."""
    indent = random.choice([None, 1, 2])
    separators = random.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
    ascii_only = random.random() < 0.9
    return json.dumps(
        data, indent=indent, separators=separators, ensure_ascii=ascii_only
    )


def places(data: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of every value in *data*."""
    found = []
    if isinstance(data, dict):
        found = [(data, key) for key in data]
    elif isinstance(data, list):
        found = [(data, k) for k in range(len(data))]
    return found + [more for box, key in found for more in places(box[key])]


def break_data(data: dict[str, Any], random: Random) -> None:
    """Change one thing in *data*."""
    known = places(data)
    if not known:
        return
    box, key = random.choice(known)
    other, there = random.choice(known)
    act = random.randrange(8)
    jobs = data.get("jobs")
    listed = jobs if isinstance(jobs, list) else []
    objects = [job for job in listed if isinstance(job, dict) and job]
    if act == 6 and len(objects) > 1:  # such as an id twice
        one, another = random.sample(objects, 2)
        key = random.choice([*one])
        one[key] = copy.deepcopy(another.get(key))
    elif act == 7:  # a list item twice
        lists = [box for box, _ in places(data) if isinstance(box, list)]
        lists = lists or [[0]]
        chosen = random.choice(lists)
        chosen.append(copy.deepcopy(chosen[0]))
    elif act <= 1:
        box[key] = copy.deepcopy(random.choice(ODD))
    elif act == 2:
        del box[key]
    elif act == 3:
        box[key] = copy.deepcopy(other[there])
    elif act == 4 and isinstance(box, dict):
        box[random.choice(["id", "repeat", "nodes", "jobs", "user", "wrong"])] = 1
    elif isinstance(box, dict):  # another order of the keys
        keys = random.sample([*box], len(box))
        box.update({name: box.pop(name) for name in keys})


def break_text(text: str, random: Random) -> str:
    """Change one thing in the *text* of a file."""
    at = random.randrange(len(text))
    act = random.randrange(4)
    if act == 0:  # a value
        value = text.find(":", at)
        return text[: value + 1] + random.choice(TEXTS) + text[value + 2 :]
    if act == 1:  # a key twice
        opened = max(text.find("{", at), 0) + 1
        key = random.choice(["id", "nodes", "repeat", "jobs", "file_nodes", "io_bytes"])
        return text[:opened] + f'"{key}": 1,' + text[opened:]
    if act == 2:
        return text[:at] + text[at + 1 :]
    return text[:at] + random.choice('{}[],:" 1e\\x\x00') + text[at:]


def outcome(path: Path) -> Any:
    try:
        return ioopt.load(path)
    except InstanceError as error:
        return str(error)


def as_read(path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> tuple[Any, Any]:
    """Return what reading in pieces, and reading as a whole, make of the file."""
    monkeypatch.setattr(large, "PIECE_BYTES", piece)
    monkeypatch.setattr(large, "HEAD_BYTES", 2 * piece)
    monkeypatch.setattr(native, "LARGE_BYTES", 0)
    pieces = outcome(path)
    monkeypatch.setattr(native, "LARGE_BYTES", 1 << 40)
    return pieces, outcome(path)


@pytest.mark.parametrize("family", MAKERS)
@pytest.mark.parametrize("seeds", [range(15), pytest.param(SLOW, marks=SLOW_MARK)])
def test_columns_are_the_problem_that_the_records_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range, family: str
) -> None:
    path = tmp_path / "file.json"
    for seed in seeds:
        random = Random(seed)
        data = MAKERS[family](random)
        path.write_text(json.dumps(data, indent=random.choice([None, 1])))
        pieces, whole = as_read(path, monkeypatch, random.choice([250, 500, 1 << 20]))
        assert isinstance(pieces.jobs, HeldAsColumns) and isinstance(whole.jobs, tuple)
        assert pieces.jobs[-1] == whole.jobs[-1]
        assert "records" not in pieces.jobs.__dict__  # one record needs no others
        assert repr(pieces) == repr(whole)
        again = pickle.loads(pickle.dumps(pieces))
        assert pieces == whole and whole == pieces and again == whole
        assert hash(pieces.jobs) == hash(whole.jobs)
        assert pieces.jobs[1:] == whole.jobs[1:] and [*pieces.jobs] == [*whole.jobs]
        assert pieces.model_dump() == whole.model_dump()
        assert pieces.digest == whole.digest
        assert pieces.model_copy(update={"jobs": whole.jobs}) == whole
        solver = {"batch-io": "fill", "gang": "gs"}[family]
        one, other = (ioopt.solve(problem, solver) for problem in (pieces, whole))
        assert (one.schedule, one.bound) == (other.schedule, other.bound)


@pytest.mark.parametrize("family", MAKERS)
@pytest.mark.parametrize("seeds", [range(80), pytest.param(SLOW, marks=SLOW_MARK)])
def test_broken_files_are_refused_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range, family: str
) -> None:
    path = tmp_path / "file.json"
    for seed in seeds:
        random = Random(seed)
        data = MAKERS[family](random)
        for _ in range(random.choice([0, 1, 1, 2])):
            break_data(data, random)
        text = text_of(data, random)
        for _ in range(random.choice([0, 0, 1, 1, 2])):
            text = break_text(text, random)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        pieces, whole = as_read(path, monkeypatch, random.choice([250, 500, 1 << 20]))
        assert type(pieces) is type(whole) and pieces == whole, seed
        if not isinstance(whole, str):
            assert pieces.model_dump_json() == whole.model_dump_json(), seed


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\u00a0", "\x00"])
def test_only_spaces_of_json_may_stand_between_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: str
) -> None:
    """The text between two pieces is thrown away, so nothing else may stand there."""
    path = tmp_path / "file.json"
    data = gang(Random(1))
    data["jobs"] = [{**data["jobs"][0], "id": k} for k in range(40)]
    text = json.dumps(data)
    cut = text.rindex('{"id"')
    path.write_text(text[:cut] + space + text[cut:])
    pieces, whole = as_read(path, monkeypatch, 250)
    assert isinstance(whole, str) and pieces == whole


def test_a_file_named_like_standard_input_is_not_read_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(native, "LARGE_BYTES", 0)
    (tmp_path / "-").write_text(json.dumps(gang(Random(1))))
    assert native.is_large("./-") and not native.is_large("-")


def test_columns_of_another_family_are_no_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(batch_io(Random(1))))
    batch, _ = as_read(path, monkeypatch, 250)
    assert isinstance(batch.jobs, HeldAsColumns)
    other = {**gang(Random(1)), "jobs": batch.jobs}
    with pytest.raises(InstanceError, match=r"jobs\[0\]"):
        ioopt.load(other)
