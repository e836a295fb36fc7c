"""Every command on the kinds quantum-selection and flexible-gang."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import first

import ioopt
from ioopt.catalog import entries
from ioopt.cli.main import main

SMALL = {
    "quantum-selection": ["--preset", "plain", "--set", "io_jobs=1"],
    "flexible-gang": ["--preset", "light-mix", "--set", "jobs=5"],
}
SOLVERS = {
    "quantum-selection": ["quantum-greedy", "quantum-ip"],
    "flexible-gang": ["strict", "strict-fill", "greedy", "flex-exact"],
}


@pytest.mark.parametrize("kind", first(0, SMALL))
def test_generate_solve_check_simulate_plot_compare(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["instances", "generate", kind, *SMALL[kind], "--seed", "2", "-o", "in.json"]) == 0
    assert (
        main(["instances", "generate", kind, *SMALL[kind], "--seed", "2", "-o", "again.json"]) == 0
    )
    assert Path("in.json").read_text() == Path("again.json").read_text()
    assert main(["check", "in.json"]) == 0
    for solver in SOLVERS[kind]:
        assert main(["solve", "in.json", "--solver", solver, "--time-limit", "20",
                     "-o", "out.json"]) == 0  # fmt: skip
        assert main(["check", "in.json", "out.json"]) == 0
    assert main(["simulate", "in.json", "out.json"]) == 0
    assert main(["plot", "out.json", "-o", "out.svg"]) == 0
    assert Path("out.svg").stat().st_size > 1000
    capsys.readouterr()
    assert main(["compare", "in.json", "--format", "json", "-o", "table.json"]) == 0
    rows = json.loads(Path("table.json").read_text())["rows"]
    assert [row["solver"] for row in rows][-1] in SOLVERS[kind]
    assert all(row["violations"] == [] for row in rows)
    assert min(row["ratio_to_best"] for row in rows if row["ratio_to_best"] is not None) == 1.0
    assert main(["instances", "schema", kind]) == 0
    assert "properties" in json.loads(capsys.readouterr().out)


def test_a_spoilt_plan_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = ioopt.solve("flexgang-tiny", "flex-exact", time_limit=30).to_dict()
    result["plan"]["tau_seconds"]["loose"] += 0.001
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(result))
    assert main(["check", "flexgang-tiny", str(path)]) == 5
    assert "capacity" in capsys.readouterr().out


def test_unknown_names_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "generate", "flexible-gang", "--preset", "heavymix", "-o", "-"]) == 2
    assert "heavy-mix" in capsys.readouterr().err
    assert main(["solve", "flexgang-tiny", "--solver", "flex-exact", "--set", "reranking=1"]) == 2
    assert main(["solve", "flexgang-tiny", "--solver", "strict", "--backend", "HiGHS"]) == 2


@pytest.mark.parametrize("seed", first(0, [1, 2]))
def test_same_seed_same_answer(seed: int) -> None:
    from ioopt.generate.flexgang.flexible_gang import generate

    problem = generate("light-mix", {"jobs": 5}, seed)
    first, second = (ioopt.solve(problem, "flex-exact", time_limit=60) for _ in range(2))
    assert first.plan == second.plan
    assert first.metrics["simulated_objective"] == second.metrics["simulated_objective"]


@pytest.mark.slow
def test_bundled_instances_reach_their_best() -> None:
    names = [
        name
        for name, entry in entries().items()
        if entry["kind"] in ("quantum-selection", "flexible-gang")
    ]
    assert len(names) == 7
    for name in ("quantum-plain", "quantum-visits"):
        assert ioopt.solve(name).objective == pytest.approx(entries()[name]["best_objective"])
    assert ioopt.solve("flexgang-tiny", time_limit=30).objective == pytest.approx(0.579)


def test_models_are_written_and_solve_to_the_same_optimum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import highspy

    target = tmp_path / "model.lp"
    assert main(["export", "lp", "flexgang-tiny", "--set", "k=2", "--set", "d=2",
                 "-o", str(target)]) == 0  # fmt: skip
    assert "capacity_0" in target.read_text()
    mps = tmp_path / "model.mps"
    assert main(["export", "mps", "quantum-plain", "-o", str(mps)]) == 0
    for path, wanted in ((target, 0.579), (mps, 0.8306444)):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.readModel(str(path))
        solver.run()
        assert solver.getInfo().objective_function_value == pytest.approx(wanted, abs=1e-6)
    assert main(["export", "lp", "flexgang-tiny", "--set", "k=3", "--set", "d=2",
                 "-o", str(target)]) == 2  # fmt: skip
    assert "0,1 1,1 2,1 2,2 3,1 4,1" in capsys.readouterr().err
    assert main(["export", "lp", "flexgang-tiny", "-o", str(mps)]) == 2
