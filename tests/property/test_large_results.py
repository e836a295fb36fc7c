"""Large results are read as columns; whatever is odd in them, the answer is that of the
dictionaries.
"""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from gang_tools import random_workload

import ioopt
from ioopt.cli import check
from ioopt.cli.options import read_result
from ioopt.errors import IooptError
from ioopt.formats import large, native
from ioopt.problems.base import Rows
from ioopt.registry import KINDS
from tests.batch_io_traces import random_trace
from tests.property.test_large_files import (
    SLOW,
    SLOW_MARK,
    break_data,
    break_text,
    text_of,
)

PROBLEMS: dict[str, Any] = {"gang": random_workload(3), "batch-io": random_trace(5)}
RESULTS = {
    "gang": [("migrate-iogs", {"history": "no"})],
    "batch-io": [
        ("fill", {"rates": "yes"}),
        ("base-line", {"rates": "no"}),
        ("no-congestion", {"rates": "yes"}),
    ],
}
"""Solvers and settings, of which a result has columns."""


KEYS = [
    *("id", "start_seconds", "finish_seconds", "local", "end_seconds", "killed"),
    *("first_node", "allocated_nodes", "io", "nodes", "phase", "request_seconds"),
    *("first_grant_seconds", "rates"),
]


@cache
def made_once(family: str) -> list[dict[str, Any]]:
    problem = PROBLEMS[family]
    return [
        ioopt.solve(problem, solver, settings=told).to_dict()
        for solver, told in RESULTS[family]
    ]


def outcome(family: str, path: Path) -> Any:
    """Return what a check says."""
    try:
        return check._judged(PROBLEMS[family], str(path), {})[1]
    except IooptError as error:
        return str(error)


def same_of_both(
    family: str, path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """Assert that a check says the same of a file in pieces and as a whole."""
    monkeypatch.setattr(large, "PIECE_BYTES", piece)
    monkeypatch.setattr(native, "LARGE_BYTES", 0)
    pieces = outcome(family, path)
    monkeypatch.setattr(native, "LARGE_BYTES", 1 << 40)
    whole = outcome(family, path)
    assert pieces == whole


@pytest.mark.parametrize("family", PROBLEMS)
@pytest.mark.parametrize("seeds", [range(25), pytest.param(SLOW, marks=SLOW_MARK)])
def test_a_check_says_the_same_of_columns_and_of_dictionaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range, family: str
) -> None:
    path = tmp_path / "result.json"
    for seed in seeds:
        random = Random(seed)
        data = json.loads(json.dumps(random.choice(made_once(family))))
        faults = random.choice([0, 1, 2])
        for _ in range(faults):
            break_data(random.choice([data, data["schedule"]]), random)
            if not isinstance(data.get("schedule"), dict):
                break
        text = text_of(data, random)
        odd = random.random() < 0.3
        if odd:
            text = break_text(text, random)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        same_of_both(family, path, monkeypatch, random.choice([2500, 1 << 20]))
        if not faults and not odd:
            monkeypatch.setattr(native, "LARGE_BYTES", 0)
            read = read_result(str(path), KINDS[family], columns=True)
            assert isinstance(read["schedule"]["jobs"], Rows)


@pytest.mark.parametrize("odd", [True, None, "x", 1e19, 10**18 + 1, 5])
@pytest.mark.parametrize("key", KEYS)
def test_one_odd_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, odd: object
) -> None:
    for family in PROBLEMS:
        for result in made_once(family):
            data = json.loads(json.dumps(result))
            row = data["schedule"]["jobs"][-1]
            if key not in row and row.get("io"):
                row = row["io"][-1]
            row[key] = odd
            path = tmp_path / "result.json"
            path.write_text(json.dumps(data))
            same_of_both(family, path, monkeypatch, 1 << 20)
