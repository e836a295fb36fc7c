"""Every picture of a report alone, as PNG, SVG and HTML, from one
store of three families.
"""

import pytest
from campaign_helpers import rows_in
from conftest import first

from ioopt.campaign.grid import build_grid, read_config
from ioopt.campaign.store import Store, StoreReader
from ioopt.campaign.work import perform
from ioopt.cli.main import main

CONFIG = """
time_limit = 3600
[[instances]]
generate = "replication"
preset = "image-85"
set = { tasks = [6, 8], nodes = 2 }
seeds = [0, 1]
[[instances]]
bundled = "two-writers"
[[instances]]
generate = "gang"
set = { jobs = 12 }
[[solvers]]
name = "minmin"
[[solvers]]
name = "job-data-present"
[[solvers]]
name = "fill"
set = { rates = ["no", "yes"] }
[[solvers]]
name = "gs"
set = { history = "no" }
"""
START = {".png": b"\x89PNG", ".svg": b"<?xml", ".html": b"<!doctype html>"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A store whose points were run here: what a sweep writes, without a cluster."""
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "grid.toml").write_text(CONFIG)
    grid = build_grid(read_config(str(folder / "grid.toml")), str(folder))
    path = str(folder / "runs.sqlite")
    with Store(path) as store:
        for point in grid.points:
            store.put(perform(point, grid.sources[point.source]))
    with StoreReader(path) as reader:
        rows = list(
            rows_in(reader, ("key", "kind", "solver", "settings", "status", "error"))
        )
    assert len(rows) == 4 * 2 + 2 + 1
    assert all(row[4] in ("feasible", "optimal") for row in rows), rows
    return path


PICTURES = [
    (("--kind", "batch-io"), "over the best of the instance"),
    (("--picture", "ratios", "--kind", "replication"), "over the best of the instance"),
]


@pytest.mark.parametrize("ending", first(1, [".svg", ".png", ".html"]))
@pytest.mark.parametrize(("options", "words"), PICTURES)
def test_each_picture_of_a_store_alone(
    runs, tmp_path, monkeypatch, options, words, ending
):
    import matplotlib

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    target = tmp_path / f"picture{ending}"
    assert main(["plot", runs, *options, "-o", str(target)]) == 0
    content = target.read_bytes()
    assert content.startswith(START[ending])
    if ending != ".png":
        assert words in content.decode()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--kind: the stores hold batch-io, gang, replication"),
        (("--picture", "matrix"), "no picture 'matrix'"),
    ],
)
def test_a_picture_that_is_not_there(runs, tmp_path, capsys, options, message):
    assert main(["plot", runs, *options, "-o", str(tmp_path / "x.svg")]) == 2
    assert message in capsys.readouterr().err


def test_a_result_has_its_pictures_by_name(run):
    assert run("solve", "two-writers", "--solver", "fill", "-o", "r.json")[0] == 0
    assert run("plot", "r.json", "--picture", "gantt", "-o", "jobs.svg")[0] == 0
    code, _, err = run("plot", "r.json", "--picture", "matrix", "-o", "x.svg")
    assert code == 2 and "known: default, gantt" in err
    assert run("plot", "r.json", "--kind", "gang", "-o", "x.svg")[0] == 2
