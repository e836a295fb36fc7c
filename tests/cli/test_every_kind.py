"""Every command on an instance of every kind whose plans are
replayed, from its generator.
"""

import json

import pytest

import ioopt
from ioopt.catalog import entries

SLOW = ("quantum-selection", "flexible-gang", "work-directory")
KINDS = {
    "replication": "--preset image-85 --set tasks=16 --set disk=400MB",
    "batch-io": "--preset tiny",
    "gang": "--set jobs=40 --set nodes=32 --set mean_local_seconds=2500 --set "
    "intensity=mixed",
    "quantum-selection": "--preset plain --set io_jobs=1",
    "flexible-gang": "--preset light-mix --set jobs=5",
    "work-directory": "--preset chain --set samples=2 --set length=3",
}
SOLVERS = {
    "replication": ["two-stage", "minmin"],
    "batch-io": ["fill"],
    "gang": ["migrate-iogs"],
    "quantum-selection": ["quantum-greedy", "quantum-ip"],
    "flexible-gang": ["strict", "strict-fill", "greedy", "flex-exact"],
    "work-directory": ["submission", "depth-first", "in-flight", "search", "exact"],
}
COMPARED = {
    "batch-io": [
        "no-congestion",
        "base-line",
        "cons-fcfs",
        "cons-max-util",
        "cons-min-inst-sld",
        "cons-min-aggr-sld",
        "adaptive",
        "set-10",
        "fill",
        "least-delay",
    ],
    "gang": [
        "gs",
        "iogs",
        "adaptive-iogs",
        "migrate-iogs",
        "guarded-iogs",
        "index-iogs",
    ],
    "quantum-selection": ["quantum-greedy", "quantum-ip"],
    "flexible-gang": ["flex-exact", "greedy", "strict-fill", "strict"],
    "work-directory": ["search", "in-flight", "depth-first", "submission"],
}
MEASURES = {
    "replication": {"additive_seconds", "makespan_seconds"},
    "batch-io": {"mean_response_seconds"},
    "work-directory": {"peak_bytes", "lower_bound_seconds", "peak_bound_bytes"},
    "gang": {"mean_slowdown", "p99_slowdown", "big_job_slowdown", "max_wait_seconds"},
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.slow if kind in SLOW else ())
        for kind in KINDS
    ],
)
def test_generate_solve_check_simulate_plot_compare(run, tmp_path, kind):
    code, out, _ = run("instances", "generate", kind, "--list")
    assert code == 0 and "preset" in out
    made = ("instances", "generate", kind, *KINDS[kind].split(), "--seed", "2", "-o")
    assert run(*made, "in.json")[0] == 0
    assert run(*made, "-")[1] == (tmp_path / "in.json").read_text()
    assert run("check", "in.json")[0] == 0
    for solver in SOLVERS[kind]:
        more = (
            ("--set", "barriers=no", "--set", "effort=0.1")
            if solver == "two-stage"
            else ()
        )
        assert (
            run("solve", "in.json", "--solver", solver, *more, "-o", "out.json")[0] == 0
        )
        assert run("check", "in.json", "out.json")[0] == 0
    result = json.loads((tmp_path / "out.json").read_text())
    assert MEASURES.get(kind, set()) <= result["metrics"].keys()
    code, replayed, _ = run(
        "simulate", "in.json", "out.json", "--format", "json", "--timeline", "t.json"
    )
    assert (tmp_path / "t.json").exists()
    assert code == 0 and json.loads(replayed)["schedule"] == result["schedule"]
    assert run("plot", "out.json", "-o", "out.svg")[0] == 0
    assert (tmp_path / "out.svg").read_text().lstrip().startswith("<?xml")
    if kind in COMPARED:
        rows = json.loads(run("compare", "in.json", "--format", "json")[1])["rows"]
        assert [row["solver"] for row in rows] == COMPARED[kind]
        assert all(row["violations"] == [] for row in rows)
        assert min(row["ratio_to_best"] for row in rows if row["ratio_to_best"]) == 1.0
    (tmp_path / "out.json").write_text(json.dumps(result | {"objective": -1.0}))
    code, out, _ = run("check", "in.json", "out.json")
    assert code == 5 and out.startswith("objective")


def test_settings_reach_the_policy(run):
    call = ("solve", "gang-figure-5", "--solver", "index-iogs", "--format", "json")
    result = json.loads(run(*call, "--set", "weight=hdf", "--set", "queue=fcfs")[1])
    assert result["plan"]["settings"]["weight"] == "hdf"
    code, _, err = run(*call, "--set", "weight=best")
    assert code == 2 and "weight" in err


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_same_seed_same_answer(seed: int) -> None:
    from ioopt.generate.flexgang.flexible_gang import generate

    problem = generate("light-mix", {"jobs": 5}, seed)
    first, second = (
        ioopt.solve(problem, "flex-exact", time_limit=60) for _ in range(2)
    )
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
        assert ioopt.solve(name).objective == pytest.approx(
            entries()[name]["best_objective"]
        )
    assert ioopt.solve("flexgang-tiny", time_limit=30).objective == pytest.approx(0.579)


def test_a_result_of_another_instance_is_told_before_what_follows_from_it(
    run, tmp_path
):
    assert run("solve", "two-pairs", "--solver", "minmin", "-o", "pairs.json")[0] == 0
    code, out, _ = run("check", "cycle3", "pairs.json")
    first = "pairs.json: a result of 'two-pairs', checked against 'cycle3':"
    assert code == 5 and out.splitlines()[0] == first


@pytest.mark.parametrize(
    ("name", "solver", "heading"),
    [
        ("small-8", "base-line", "mean I/O slowdown"),
        ("gang-figure-5", "gs", "mean slowdown"),
    ],
)
def test_the_slowdown_without_waits_is_called_an_io_slowdown(
    run, name, solver, heading
):
    code, out, _ = run("solve", name, "--solver", solver)
    assert code == 0 and f"\n{heading}  " in out
    code, out, _ = run(
        *("compare", name, "--solver", solver, "--measure", "mean_slowdown")
    )
    assert code == 0 and f"  {heading}  " in out
