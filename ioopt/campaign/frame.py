"""The rows of one or more stores as a table, with ratios to the best of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ioopt.campaign.store import FAILED, StoreReader, clearly
from ioopt.registry import KINDS

if TYPE_CHECKING:
    import pandas as pd

PLAIN = (
    "key", "instance", "digest", "family", "kind", "solver", "settings", "labels", "seed",
    "repeat", "status", "stop", "objective", "objective_name", "bound", "gap", "build_seconds",
    "solve_seconds", "violations", "error", "machine", "versions",
)  # fmt: skip
REPEATED = ("instance", "digest", "family", "kind", "solver", "settings", "labels", "status",
            "stop", "objective_name", "machine", "versions")  # fmt: skip


def read_frame(paths: Sequence[str]) -> pd.DataFrame:
    """All rows of the stores; a point in several stores is counted once (the first store wins).

    Column ``value`` is the kind's ratio metric, ``variant`` the solver with its settings.
    """
    import pandas as pd

    parts = []
    for path in paths:
        with StoreReader(path) as reader:
            query = f"SELECT {', '.join(PLAIN)}, {_value_sql()} AS value FROM runs"
            with clearly(path):
                try:
                    part = pd.read_sql_query(query, reader.connection)
                except (
                    pd.errors.DatabaseError
                ) as error:  # SQLite's own error under the query's text
                    raise error.__cause__ or error from None
            part[list(REPEATED)] = part[list(REPEATED)].astype("category")
            parts.append(part)
    frame = pd.concat(parts, ignore_index=True).drop_duplicates("key", ignore_index=True)
    settings = frame["settings"].astype(str)
    plain = frame["solver"].astype(str)
    frame["variant"] = plain.where(settings == "{}", plain + " " + settings).astype("category")
    return with_ratios(frame)


def _value_sql() -> str:
    """The metric each kind is compared by, read inside SQLite: a million rows are never parsed here."""
    whens = " ".join(
        f"WHEN '{spec.kind}' THEN json_extract(metrics, '$.{spec.ratio_metric}')"
        for spec in KINDS.values()
        if spec.ratio_metric != "objective"
    )
    return f"CASE kind {whens} ELSE objective END" if whens else "objective"


def with_ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``ratio`` (1 is the best of the same instance, seed and repeat; more is worse) and ``won``.

    Rows with violations, without a value, or that failed take no part.
    """
    sound = (frame["violations"] == 0) & ~frame["status"].isin([FAILED, "error"])
    value = frame["value"].where(sound).astype(float)
    keys = [frame["digest"], frame["repeat"]]
    most = {name for name, spec in KINDS.items() if spec.sense == "max"}
    maximise = frame["kind"].isin(most)
    groups = value.groupby(keys, observed=True)
    best = groups.transform("min").where(~maximise, groups.transform("max"))
    ratio = (value / best).where(~maximise, best / value)
    frame["ratio"] = ratio.where(value != best, 1.0).where(value.notna())
    frame["won"] = frame["ratio"] <= 1 + 1e-9
    return frame


def one_kind(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The rows of one kind, without the solvers and labels of the others."""
    rows = frame[frame["kind"] == kind].copy()
    for name in rows.select_dtypes("category"):
        rows[name] = rows[name].cat.remove_unused_categories()
    return rows


def experiments(frame: pd.DataFrame) -> pd.DataFrame:
    """One line a study and function of the experiments: runs, failed, seconds of computing."""
    table = frame.assign(failed=frame["status"] == FAILED)
    groups = table.groupby(["instance", "solver"], observed=True)
    out = groups.agg(
        runs=("key", "size"), failed=("failed", "sum"), seconds=("solve_seconds", "sum")
    )
    return out.reset_index()


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """One line a kind and variant: runs, proven, failed, gap, ratio to best, wins, seconds."""
    import numpy as np

    table = frame.assign(
        proven=frame["status"] == "optimal",
        failed=(frame["status"] == FAILED) | (frame["status"] == "error"),
        seconds=frame["build_seconds"].fillna(0) + frame["solve_seconds"].fillna(0),
        log_ratio=np.log(frame["ratio"].where(frame["ratio"] > 0)),
    )
    groups = table.groupby(["kind", "variant"], observed=True)
    out = groups.agg(
        runs=("key", "size"), proven=("proven", "sum"), failed=("failed", "sum"),
        mean_gap=("gap", "mean"), mean_ratio=("log_ratio", "mean"), worst_ratio=("ratio", "max"),
        wins=("won", "sum"), median_seconds=("seconds", "median"),
    )  # fmt: skip
    out["mean_ratio"] = np.exp(out["mean_ratio"])
    return out.reset_index()


def profiles(frame: pd.DataFrame, points: int = 400) -> dict[str, tuple[list[float], list[float]]]:
    """Performance profiles (Dolan and More 2002): per variant, ratio tau against share solved within it.

    The share counts every run of the variant, failed ones as never solved. At most *points* steps.
    """
    import numpy as np

    found: dict[str, tuple[list[float], list[float]]] = {}
    for name, group in frame.groupby("variant", observed=True):
        ratios = np.sort(group["ratio"].dropna().to_numpy())
        shares = np.arange(1, len(ratios) + 1) / len(group)
        if len(ratios) > points:
            chosen = np.unique(np.linspace(0, len(ratios) - 1, points).astype(int))
            ratios, shares = ratios[chosen], shares[chosen]
        found[str(name)] = (ratios.tolist(), shares.tolist())
    return found


def by_label(frame: pd.DataFrame, label: str) -> dict[str, list[tuple[float, float, float, int]]]:
    """Per variant, (label value, mean of the compared metric, half width, runs), by label.

    The half width is that of the mean's 95 % interval by Student's t, 0 for a single run.
    """
    import json

    import pandas as pd
    from scipy import stats

    decoded = {text: json.loads(text).get(label) for text in frame["labels"].unique()}
    table = frame.assign(
        at=pd.to_numeric(frame["labels"].astype(str).map(decoded), errors="coerce")
    )
    groups = table.dropna(subset=["at", "value"]).groupby(["variant", "at"], observed=True)["value"]
    found: dict[str, list[tuple[float, float, float, int]]] = {}
    rows: list[list[Any]] = groups.agg(["mean", "sem", "size"]).reset_index().to_numpy().tolist()
    for variant, at, mean, error, count in rows:
        half = float(stats.t.ppf(0.975, count - 1) * error) if count > 1 else 0.0
        found.setdefault(str(variant), []).append((float(at), float(mean), half, int(count)))
    return found


def numeric_labels(frame: pd.DataFrame) -> list[str]:
    """Labels of generated instances that take more than one number."""
    import json

    values: dict[str, set[float]] = {}
    for text in frame["labels"].unique():
        for key, value in json.loads(text).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.setdefault(key, set()).add(value)
    return sorted(key for key, found in values.items() if len(found) > 1)


def versions(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Every (package, version) that produced a row."""
    import json

    found: dict[tuple[str, str], Any] = {}
    for text in frame["versions"].unique():
        found.update(dict.fromkeys(json.loads(text).items()))
    return sorted(found)
