"""Parts of a sweep for job arrays, and the stores that they are merged into."""

import pytest
from campaign_helpers import row, rows_in, write_config

from ioopt.campaign.grid import build_grid, read_config
from ioopt.campaign.store import Store, StoreReader
from ioopt.cli.main import main


@pytest.fixture
def config(tmp_path):
    """The configuration of 28 points, in the folder where the test works."""
    return write_config(tmp_path, seeds=3, repeats=2)


def grid_of(config):
    return build_grid(read_config(str(config)), str(config.parent))


def test_parts_are_disjoint_and_together_all(config):
    grid = grid_of(config)
    keys = [point.key for point in grid.points]
    for count in (1, 3, 16, 40):
        parts = [grid.part(number, count) for number in range(1, count + 1)]
        found = [point.key for part in parts for point in part]
        assert sorted(found) == sorted(keys)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert grid_of(config).digest == grid.digest


def test_a_part_of_the_command_line_is_one_of_them(config, capsys):
    words = ["sweep", str(config), "--store", "s.sqlite", "--dry-run", "--part"]
    assert main([*words, "3/5"]) == 0
    assert capsys.readouterr().out.startswith("6 runs: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--part", "0/16"), "0/16: parts are 1/16 to 16/16"),
        (("--part", "17/16"), "17/16: parts are 1/16 to 16/16"),
        (("--part", "3"), "--part 3: wanted I/N, such as 3/16"),
        (("--part", "-1/2"), "--part -1/2: wanted I/N, such as 3/16"),
        (("--part", "1/0"), "--part 1/0: wanted I/N, such as 3/16"),
        (("--merge", "--part", "1/2"), "--part has no meaning with --merge"),
        (("--merge", "--workers", "2"), "--workers has no meaning with --merge"),
        (("other.toml",), "other.toml: one CONFIG.toml at a time"),
    ],
)
def test_wrong_words_are_refused_in_one_line(config, capsys, words, message):
    assert main(["sweep", str(config), "--store", "s.sqlite", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def written(path, grid, points, **changes):
    """A store of a sweep of *grid* with a row for each of *points*."""
    with Store(str(path)) as store:
        store.begin(grid.digest, len(grid.points))
        for point in points:
            store.put(row(point.key, **changes))
    return str(path)


def test_merged_parts_have_all_rows_once(config, tmp_path, capsys):
    """Also when a part is given twice, or merged later into what is there."""
    grid = grid_of(config)
    stores = []
    for number in (1, 2, 3):
        path = tmp_path / f"part-{number}.sqlite"
        stores.append(written(path, grid, grid.part(number, 3)))
    target = str(tmp_path / "all.sqlite")
    merge = ["sweep", "--store", target, "--merge"]
    assert main([*merge, *stores[:2], stores[0]]) == 0
    assert capsys.readouterr().out == f"3 stores merged: 19 of 28 runs: {target}\n"
    assert main([*merge, stores[2]]) == 2
    assert "exists already; give --resume" in capsys.readouterr().err
    assert main([*merge, *stores, "--resume"]) == 0
    assert capsys.readouterr().out == f"3 stores merged: 28 of 28 runs: {target}\n"
    with StoreReader(target) as reader:
        assert {key for (key,) in rows_in(reader)} == {p.key for p in grid.points}
        assert reader.campaigns() == {(grid.digest, 28)}


def test_stores_that_do_not_belong_together_are_refused(config, tmp_path, capsys):
    grid = grid_of(config)
    first = written(tmp_path / "first.sqlite", grid, grid.points[:4])
    other = written(tmp_path / "other.sqlite", grid, grid.points[3:5], objective=2.0)
    config.write_text(config.read_text().replace("repeats = 2", "repeats = 1"))
    smaller = grid_of(config)
    foreign = written(tmp_path / "foreign.sqlite", smaller, smaller.points)
    with Store(str(tmp_path / "unnamed.sqlite")) as store:
        store.put(row("a"))
    target = tmp_path / "all.sqlite"
    for last, message in (
        (
            other,
            f"{other}: its run of instance i, solver s, seed 0 differs from the "
            f"one in {first}; merge only one of the two",
        ),
        (foreign, f"{foreign}: is of another sweep than {first}"),
        (store.path, f"{store.path}: does not say which sweep it is of"),
        (str(config), f"{config}: the run store cannot be used"),
        (str(tmp_path / "none"), f"{tmp_path / 'none'}: no such run store"),
    ):
        assert main(["sweep", "--merge", first, last, "--store", str(target)]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
        assert not target.exists()
    assert main(["sweep", "--merge", first, "--store", foreign, "--resume"]) == 2
    assert f"{foreign}: is of another sweep than {first}" in capsys.readouterr().err
    assert main(["sweep", "--merge", first, "--store", first, "--resume"]) == 2
    assert "cannot be merged into itself" in capsys.readouterr().err
    with StoreReader(first) as reader:
        assert len(rows_in(reader)) == 4
