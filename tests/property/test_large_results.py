"""Large results are read as columns; whatever is odd in them, the answer is that of the
dictionaries.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from gang_tools import random_workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.cli import check
from ioopt.cli.options import read_result
from ioopt.errors import IooptError
from ioopt.formats import large, native
from ioopt.problems.base import Rows
from ioopt.registry import KINDS
from tests.property.test_large_files import break_data, break_text, text_of

PROBLEM = random_workload(3)
RESULT = ioopt.solve(PROBLEM, "migrate-iogs", settings={"history": "no"}).to_dict()


def outcome(path: Path) -> Any:
    """Return what a check says."""
    try:
        return check._judged(PROBLEM, str(path), {})[1]
    except IooptError as error:
        return str(error)


def same_of_both(path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """Assert that a check says the same of a file in pieces and as a whole."""
    monkeypatch.setattr(large, "PIECE_BYTES", piece)
    monkeypatch.setattr(native, "LARGE_BYTES", 0)
    pieces = outcome(path)
    monkeypatch.setattr(native, "LARGE_BYTES", 1 << 40)
    whole = outcome(path)
    assert pieces == whole


@given(st.integers(0, 10**9))
@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_check_says_the_same_of_columns_and_of_dictionaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    data = json.loads(json.dumps(RESULT))
    faults = random.choice([0, 1, 2])
    for _ in range(faults):
        break_data(random.choice([data, data["schedule"]]), random)
        if not isinstance(data.get("schedule"), dict):
            break
    text = text_of(data, random)
    odd = random.random() < 0.3
    if odd:
        text = break_text(text, random)
    path = tmp_path / "result.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    same_of_both(path, monkeypatch, random.choice([2500, 1 << 20]))
    if not faults and not odd:
        monkeypatch.setattr(native, "LARGE_BYTES", 0)
        read = read_result(str(path), KINDS["gang"], columns=True)
        assert isinstance(read["schedule"]["jobs"], Rows)


@pytest.mark.parametrize("odd", [True, None, "x", 1e19, 10**18 + 1, 5])
@pytest.mark.parametrize("key", ["id", "start_seconds", "finish_seconds", "local"])
def test_one_odd_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, odd: object
) -> None:
    data = json.loads(json.dumps(RESULT))
    data["schedule"]["jobs"][-1][key] = odd
    path = tmp_path / "result.json"
    path.write_text(json.dumps(data))
    same_of_both(path, monkeypatch, 1 << 20)
