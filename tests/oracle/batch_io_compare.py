"""Compare engines with the slow reference, exactly or within a tolerance."""

from fractions import Fraction
from typing import Any

import ioopt
from tests.batch_io_extension_traces import SHARES
from tests.batch_io_traces import POLICIES
from tests.oracle.batch_io_reference import Reference

RUNS: dict[str, dict[str, Any]] = {
    "exact": {"arithmetic": "exact"},
    "python": {"engine": "python"},
    "compiled": {"engine": "compiled"},
}
TIMES = {"request": "request", "grant": "first_grant", "finish": "finish"}
METRICS = (
    "mean_wait_seconds",
    "mean_response_seconds",
    "mean_runtime_seconds",
    "mean_slowdown",
    "max_slowdown",
    "makespan_seconds",
    "utilisation",
    "useful_utilisation",
    "io_delay_seconds",
    "node_weighted_io_delay",
)


def policy_of(seed: int) -> tuple[str, dict[str, str]]:
    """Return a policy and its settings; consecutive seeds go through all of them."""
    name = POLICIES[seed % len(POLICIES)]
    turn = seed // len(POLICIES)
    if name == "base-line":
        return name, {"share": SHARES[turn % 3]}
    if name == "fill":
        return name, {"alpha": ("0.5", "0", "1")[turn % 3]}
    if "sld" in name and turn % 2:
        return name, {"order": "descending"}
    return name, {}


def differences(
    instance: dict[str, Any], name: str, settings: dict[str, str], *engines: str
) -> list[str]:
    """Return the differences between runs of the *engines* and of the reference on
    *instance*.

    The reference, slower than the engines, runs once for all of them.
    """
    sim = Reference(instance, name, **settings).run()
    metrics = sim.metrics()
    found = []
    for engine in engines:
        result = ioopt.solve(instance, name, settings=settings | RUNS[engine])
        found += differences_of(result, sim, metrics, engine)
    return found


def differences_of(
    result: ioopt.Result,
    sim: Reference,
    metrics: dict[str, Fraction | None],
    engine: str,
) -> list[str]:
    """Return the differences between an engine's *result* and a reference run *sim*."""
    assert result.schedule is not None
    exact = engine == "exact"
    name = f"{engine}: {sim.policy}"
    found = [f"{name}: checker: {item}" for item in result.violations]
    rows = {row["id"]: row for row in result.schedule["jobs"]}
    for job in sim.jobs:
        wanted, seen = _wanted(sim, job), _seen(rows.pop(job["id"]), exact, sim)
        found += [
            f"{name}: job {job['id']} {key}: {seen.get(key)}, the reference {value}"
            for key, value in wanted.items()
            if not _same(seen.get(key), value, exact)
        ]
        found += [
            f"{name}: job {job['id']} has {key}" for key in seen if key not in wanted
        ]
    found += [f"{name}: job {job} more" for job in rows]
    if not found:
        stated = result.schedule["exact"] if exact else result.metrics
        for key, value in metrics.items():
            wanted = value if value is None else Fraction(value)
            if not _same(stated[key], wanted, exact):
                found.append(f"{name}: {key}: {stated[key]}, the reference {value}")
    return found


def _same(seen: Any, wanted: Any, exact: bool) -> bool:
    if isinstance(wanted, (int, Fraction)) and not isinstance(wanted, bool):
        if exact:
            return seen == (str(wanted) if isinstance(wanted, Fraction) else wanted)
        return seen is not None and abs(seen - wanted) <= 1e-6 * max(1, wanted / 1000)
    return bool(seen == wanted)


def _wanted(sim: Reference, job: dict[str, Any]) -> dict[str, Any]:
    values = {key: job[key] for key in ("start", "end", "killed")}
    values["first"] = job["place"][0] * sim.unit if not sim.flat else None
    if sim.flat and sim.numbered:
        values["nodes"] = [
            unit * sim.unit + k for unit in job["place"] for k in range(sim.unit)
        ]
    for record in job["io"]:
        row = f"io {record['k']} "
        values |= {row + key: record[key] for key in TIMES}
    return values


def _seen(row: dict[str, Any], exact: bool, sim: Reference) -> dict[str, Any]:
    def time(item: dict[str, Any], key: str) -> Any:
        return item["exact"][key] if exact else item[key + "_seconds"]

    values = {key: time(row, key) for key in ("start", "end")} | {
        "killed": row["killed"]
    }
    values["first"] = row.get("first_node")
    if sim.flat and sim.numbered:
        values["nodes"] = row.get("nodes")
    for record in row["io"]:
        name = f"io {record['phase']} "
        values |= {name + key: time(record, word) for key, word in TIMES.items()}
    return values
