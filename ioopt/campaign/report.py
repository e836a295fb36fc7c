"""One self-contained HTML page for one or more stores: tables and pictures,
which may be drawn alone.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from ioopt.campaign import frame as frames
from ioopt.campaign.store import FAILED
from ioopt.campaign.work import FAMILY
from ioopt.comparing.measures import COUNTED, NOT_APPLICABLE, synthetic_footnote
from ioopt.comparing.picture import RATIO_TITLE, plot_ratios
from ioopt.comparing.table import interval
from ioopt.errors import UsageError
from ioopt.plot.layout import shortened
from ioopt.plot.page import NO_PICTURES, can_draw, figure, page, table
from ioopt.tables import percent
from ioopt.units import column, quantity, title

RATIOS = "ratios"


def draw_store(
    paths: Sequence[str],
    picture: str = RATIOS,
    kind: str | None = None,
    measure: str | None = None,
) -> Any:
    """The axes of the picture of a report, ``ratios``.

    *kind* picks the kind of instance when the stores hold several; *measure* what
    runs are compared by.
    """
    if picture != RATIOS:
        raise UsageError(f"run stores have no picture {picture!r}: {RATIOS}")
    return ratios(_of_kind(frames.read_frame(paths, measure), kind))


def _of_kind(rows: pd.DataFrame, kind: str | None) -> pd.DataFrame:
    kinds = sorted(str(name) for name in rows["kind"].unique())
    if kind is None and len(kinds) == 1:
        kind = kinds[0]
    if kind not in kinds:
        raise UsageError(f"--kind: the stores hold {', '.join(kinds) or 'no rows'}")
    return frames.one_kind(rows, kind)


def ratios(rows: pd.DataFrame) -> Any:
    """Ratios to the best of each instance and repeat, of the rows of one kind."""
    groups = rows[~rows["reference"]].groupby("variant", observed=True)["ratio"]
    found = {str(name): some.dropna().to_list() for name, some in groups}
    words = f"{title(metric_of(rows))} over the best of the instance"
    return plot_ratios(found, words, f"{_instances(rows)}: {RATIO_TITLE}")


def _instances(rows: pd.DataFrame) -> str:
    """Which instances the rows are of."""
    names = [str(name) for name in rows["instance"].unique()]
    found = {labels.get("preset") for _, labels in frames.objects(rows, "labels")}
    presets = sorted(str(preset) for preset in found if preset)
    count = f" ({len(names)} instances)" if len(names) > 1 else ""
    return f"{shortened(', '.join(presets or names), 48)}{count}"


def metric_of(rows: pd.DataFrame) -> str:
    """The metric that rows of one kind are compared by."""
    return str(rows["measure"].iloc[0])


MAX_FAILURES = 200


def report_html(paths: Sequence[str], measure: str | None = None) -> str:
    """The report of the stores at *paths*, compared by *measure*; InstanceError
    for what is no store.
    """
    frame = frames.read_frame(paths, measure)
    parts = [f"<h1>Runs of {html.escape(', '.join(paths))}</h1>", _overview(frame)]
    for kind in sorted(frame["kind"].unique()):
        rows = frames.one_kind(frame, kind)
        parts += [_experiments(rows)] if kind == FAMILY else _kind(rows)
    parts.append(_failures(frame))
    parts.append(
        "<h2>Versions</h2>" + table(("package", "version"), frames.versions(frame))
    )
    return page("ioopt report", "\n".join(parts))


def _overview(frame: pd.DataFrame) -> str:
    facts = [
        ("points", len(frame)),
        ("instances", frame["digest"].nunique()),
        ("solvers", frame["variant"].nunique()),
        ("proven optimal", int((frame["standing"] == "optimal").sum())),
        (NOT_APPLICABLE, int((frame["standing"] == NOT_APPLICABLE).sum())),
        ("failed", int((frame["status"] == FAILED).sum())),
        ("violations", int(frame["violations"].sum())),
        (
            "machines",
            ", ".join(sorted(str(name) for name in frame["machine"].unique())),
        ),
    ]
    return table(("what", "value"), facts)


def _kind(frame: pd.DataFrame) -> Iterator[str]:
    """The section of one kind of instance: table and ratios."""
    metric = metric_of(frame)
    kind = frame["kind"].iloc[0]
    yield f"<h2>{html.escape(kind)}: solvers by {html.escape(metric)}</h2>"
    found = frames.summary(frame)
    headers = (
        "solver",
        "runs",
        "proven optimal",
        *COUNTED,
        "mean gap",
        "ratio to best (geometric mean)",
        "95 % interval",
        "worst ratio",
        "wins",
        "median time",
    )
    times = column("seconds", [_known(value) for value in found["median_seconds"]])
    lines = []
    for row, time in zip(found.to_dict("records"), times):
        line = [
            row["variant"],
            row["runs"],
            row["proven"],
            *(row[what] for what in COUNTED),
            percent(_known(row["mean_gap"])),
            _known(row["mean_ratio"]),
            interval(_known(row["low"]), _known(row["high"])),
            _known(row["worst_ratio"]),
            row["wins"],
            time,
        ]
        lines.append(line)
    yield (
        f"<p>Gaps and ratios are of {html.escape(metric)}; their means are over the "
        f"{found['common'].iloc[0]} instances that all solvers with answers "
        "answered.</p>"
    )
    yield table(headers, lines)
    footnote = synthetic_footnote(
        frame.loc[frame["synthetic_io"] > 0, "instance"].astype(str)
    )
    if footnote:
        yield f"<p>{html.escape(footnote)}</p>"
    if not can_draw():
        yield NO_PICTURES
        return
    caption = (
        "Ratios to the best of each instance; bars are 95 % intervals of geometric "
        "means."
    )
    yield figure(ratios(frame), caption)


def _experiments(frame: pd.DataFrame) -> str:
    headers = ("study", "function", "runs", "failed", "time of computing")
    lines = [
        (
            row.instance,
            row.solver,
            row.runs,
            row.failed,
            quantity("seconds", _known(row.seconds)),
        )
        for row in frames.experiments(frame).itertuples()
    ]
    return "<h2>Experiments</h2>" + table(headers, lines)


def _failures(frame: pd.DataFrame) -> str:
    failed = frame[frame["status"].isin([FAILED, "error"])]
    if failed.empty:
        return "<h2>Failures</h2><p>None.</p>"
    rows = [
        (row.instance, row.variant, row.seed, row.error or row.status)
        for row in failed.head(MAX_FAILURES).itertuples()
    ]
    more = f"<p>{len(failed) - len(rows)} more.</p>" if len(failed) > len(rows) else ""
    return (
        "<h2>Failures</h2>"
        + table(("instance", "solver", "seed", "reason"), rows)
        + more
    )


def _known(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
