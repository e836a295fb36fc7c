"""Bundled replication instances: what the catalog says of them is
what the solvers find.
"""

import json

import pytest
from conftest import ROOT

import ioopt
from ioopt.catalog import bundled
from ioopt.result import Status

FOLDER = ROOT / "instances" / "replication"
CATALOG = json.loads((FOLDER / "catalog.json").read_text("utf-8"))["instances"]
PROVEN = [
    row["name"]
    for row in CATALOG
    if row["who"] == "by hand" and row["objective"] == "additive_seconds"
]


def test_catalog_and_folder_agree():
    files = {path.name for path in FOLDER.glob("*.json")} - {"catalog.json"}
    assert files == {row["file"] for row in CATALOG}
    for row in CATALOG:
        assert ioopt.load(row["name"]).name == row["name"]
        assert row["why"] and row["source"] and row["kind"] == "replication"
        if row["bound"] is not None:
            assert row["bound"] <= row["best_objective"] + 1e-9


APPLICATIONS = [
    pytest.param(f"{name}-16x3", marks=pytest.mark.slow) for name in ("image", "sat")
]


@pytest.mark.parametrize("name", [*PROVEN, *APPLICATIONS])
def test_known_optima_are_proven(name):
    result = ioopt.solve(name, "ip", time_limit=280)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(bundled(name)["best_objective"], abs=1e-6)


def test_cycle3_as_printed_is_below_the_real_optimum():
    result = ioopt.solve("cycle3", "ip-printed", time_limit=20)
    assert result.objective == pytest.approx(5.120, abs=1e-6)
