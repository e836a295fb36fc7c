"""Benchmarks as data: every sweep names what is there, every speed can be run,
and the table is right.
"""

from typing import Any

import pytest
from bench import bounds, made, speed, sweeps
from campaign_helpers import run_sweep

import ioopt
from ioopt.campaign.grid import build_grid, read_config
from ioopt.registry import SOLVERS

TAKES = {(spec.name, kind) for spec in SOLVERS for kind in spec.kinds}


@pytest.mark.parametrize("name", sweeps.names())
def test_a_sweep_names_what_is_there(name, tmp_path) -> None:
    config = read_config(str(sweeps.FOLDER / f"{name}.toml"))
    assert {entry.name for entry in config.solvers} <= {spec.name for spec in SOLVERS}
    generated = tuple(entry for entry in config.instances if entry.generate)
    assert (len(generated) < len(config.instances)) == (name in made.MAKERS)
    for entry in generated:
        one = entry.model_copy(update={"seeds": entry.seeds[:1]})
        solvers = tuple(s for s in config.solvers if (s.name, entry.generate) in TAKES)
        few = config.model_copy(update={"instances": (one,), "solvers": solvers})
        assert build_grid(few).points


@pytest.mark.parametrize("group", speed.GROUPS)
def test_a_row_of_speeds_is_a_command_or_a_statement(group) -> None:
    for row in speed.ROWS[group]:
        assert {"work", "command"} & row.keys() and not {
            "work",
            "command",
        } <= row.keys()
        for one in speed.each(row, True):
            assert row["what"].format(**one["over"])
            compile(row.get("setup", ""), row["what"], "exec")
            compile(row.get("work", ""), row["what"], "exec")


def test_short_sweeps_are_valid_and_of_first_values(tmp_path) -> None:
    given = {
        "time_limit": 60,
        "instances": [
            {"generate": "replication", "set": {"tasks": [6, 8]}, "seeds": [3, 4, 5]}
        ],
        "solvers": [{"name": "minmin"}, {"name": "two-stage", "set": {"room": "mean"}}],
    }
    short = sweeps.shortened(given)
    path = tmp_path / "short.toml"
    path.write_text(
        "".join(f"{key} = {sweeps.toml(value)}\n" for key, value in short.items())
    )
    config = read_config(str(path))
    assert (config.time_limit, config.instances[0].seeds) == (2.0, (3, 4))
    assert config.instances[0].settings == {"tasks": 6}
    assert config.solvers[1].settings == {"room": "mean"}


SHOWN = ("ip", "minmin", "ip:backend=CBC")


@pytest.mark.slow
def test_the_table_of_a_sweep(tmp_path) -> None:
    """cycle3: the integer program has 53 s additive time and proves it; the row
    of MinMin is over it.
    """
    config = tmp_path / "grid.toml"
    config.write_text(
        'measure = "additive_seconds"\ninstances = [{bundled = "cycle3"}]\n'
        'solvers = [{name = "ip"}, {name = "minmin"}, {name = "ip", backend = "CBC"}]\n'
    )
    for label in ("before", "now"):
        run = run_sweep(config, tmp_path / f"{label}.sqlite", "--workers", "1")
        assert run.returncode == 0, run.stderr
    stores = {label: str(tmp_path / f"{label}.sqlite") for label in ("before", "now")}
    rows = sweeps.joined(stores, "additive_seconds")
    found = {line[1]: line for line in sweeps.table(rows, {"cycle3": 50.0})}
    assert set(found) == {f"{tree}: {name}" for tree in stores for name in SHOWN}
    exact, greedy = found["now: ip"], found["before: minmin"]
    value = float(exact[3])
    assert (
        exact[:3] == ["cycle3", "now: ip", "1"]
        and exact[5] == "1"
        and exact[7] == "1.0000"
    )
    assert exact[-1] == f"{value / 50:.4f}"
    assert float(greedy[7]) == pytest.approx(float(greedy[3]) / value, abs=1e-4)


@pytest.mark.slow
def test_no_bound_lies_beyond_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds.main(True) == 0
    assert "replication batches" in capsys.readouterr().out


def test_a_bound_beyond_a_plan_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both writers at once end after 3 s at the soonest; half of what a policy needs
    # is no bound of it.
    make = lambda rng: ioopt.load("two-writers")  # noqa: E731
    kept = bounds.stated

    def lying(*what: Any) -> Any:
        kind, found, values = kept(*what)
        found["mean_response_seconds"] = {10.0: "a liar"}
        return kind, found, values

    part: Any = (make, {}, 1.0)
    monkeypatch.setattr(bounds, "LIMIT_SECONDS", 0.1)
    monkeypatch.setitem(bounds.PARTS, "batch I/O, closed loop", part)
    assert bounds.checked("batch I/O, closed loop", 2, 1)[-1] == 0
    monkeypatch.setattr(bounds, "stated", lying)
    assert bounds.checked("batch I/O, closed loop", 2, 1)[-1] > 0
