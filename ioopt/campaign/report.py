"""One self-contained HTML page for one or more stores: tables, profiles, curves, timelines."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ioopt.campaign import frame as frames
from ioopt.campaign import pictures
from ioopt.campaign.store import FAILED
from ioopt.campaign.work import FAMILY
from ioopt.comparing.measures import COUNTED, NOT_APPLICABLE
from ioopt.pictures import DEFAULT, drawn
from ioopt.plot.page import NO_PICTURES, can_draw, figure, page, table
from ioopt.provenance import synthetic_footnote
from ioopt.quantities import column, quantity
from ioopt.tables import percent

if TYPE_CHECKING:
    import pandas as pd

MAX_FAILURES = 200


def report_html(
    paths: Sequence[str], timelines: int = 4, runs: Sequence[str] = (), measure: str | None = None
) -> str:
    """The report of the stores at *paths*, compared by *measure*; needs no network to be read.

    At most *timelines* stored schedules are drawn, or those of *runs* (beginnings of keys). Raises
    InstanceError for what is not a store.
    """
    frame = frames.read_frame(paths, measure)
    parts = [f"<h1>Runs of {html.escape(', '.join(paths))}</h1>", _overview(frame)]
    for kind in sorted(frame["kind"].unique()):
        rows = frames.one_kind(frame, kind)
        parts += [_experiments(rows)] if kind == FAMILY else _kind(rows)
    parts += _timelines(paths, timelines, runs)
    parts.append(_failures(frame))
    parts.append("<h2>Versions</h2>" + table(("package", "version"), frames.versions(frame)))
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
        ("machines", ", ".join(sorted(str(name) for name in frame["machine"].unique()))),
    ]
    return table(("what", "value"), facts)


def _kind(frame: pd.DataFrame) -> Iterator[str]:
    """The section of one kind of instance: table, profile, curves."""
    metric = pictures.metric_of(frame)
    kind = frame["kind"].iloc[0]
    yield f"<h2>{html.escape(kind)}: solvers by {html.escape(metric)}</h2>"
    found = frames.summary(frame)
    headers = ("solver", "runs", "proven optimal", *COUNTED, "mean gap",
               "ratio to best (geometric mean)", "worst ratio", "wins", "median time")  # fmt: skip
    times = column("seconds", [_known(value) for value in found["median_seconds"]])
    lines = [
        (row["variant"], row["runs"], row["proven"], *(row[what] for what in COUNTED),
         percent(_known(row["mean_gap"])), _known(row["mean_ratio"]), _known(row["worst_ratio"]),
         row["wins"], time)
        for row, time in zip(found.to_dict("records"), times)
    ]  # fmt: skip
    yield (
        f"<p>Gaps and ratios are of {html.escape(metric)}; their means are over the "
        f"{found['common'].iloc[0]} instances that all solvers with answers answered.</p>"
    )
    yield table(headers, lines)
    footnote = synthetic_footnote(frame.loc[frame["synthetic_io"] > 0, "instance"].astype(str))
    if footnote:
        yield f"<p>{html.escape(footnote)}</p>"
    caption = "Performance profile: share of runs within a factor of the best."
    if not can_draw():
        yield NO_PICTURES
        return
    yield figure(pictures.profile(frame), caption)
    caption = "Ratios to the best of each instance; bars are confidence intervals of the mean."
    yield figure(pictures.ratios(frame), caption)
    for label in frames.numeric_labels(frame) if frame["value"].notna().any() else ():
        caption = f"{metric} against {label}: mean and its 95 % interval."
        yield figure(pictures.against(frame, label), caption)


def _experiments(frame: pd.DataFrame) -> str:
    headers = ("study", "function", "runs", "failed", "time of computing")
    lines = [
        (row.instance, row.solver, row.runs, row.failed, quantity("seconds", _known(row.seconds)))
        for row in frames.experiments(frame).itertuples()
    ]
    return "<h2>Experiments</h2>" + table(headers, lines)


def _timelines(paths: Sequence[str], limit: int, runs: Sequence[str]) -> Iterator[str]:
    """Every picture of the stored schedules asked for."""
    stored = list(pictures.kept_results(paths, limit, runs)) if can_draw() else []
    if stored:
        yield "<h2>Timelines of stored runs</h2>"
    for key, result in stored:
        caption = f"{result.instance}, {result.solver}, seed {result.seed}, run {key[:12]}"
        figures = [
            figure(axes, caption if picture == DEFAULT else f"{caption}, {picture}")
            for picture, axes in drawn(result)
        ]
        yield from figures or [f"<p>{html.escape(caption)}: its schedule has nothing to draw.</p>"]


def _failures(frame: pd.DataFrame) -> str:
    failed = frame[frame["status"].isin([FAILED, "error"])]
    if failed.empty:
        return "<h2>Failures</h2><p>None.</p>"
    rows = [
        (row.instance, row.variant, row.seed, row.error or row.status)
        for row in failed.head(MAX_FAILURES).itertuples()
    ]
    more = f"<p>{len(failed) - len(rows)} more.</p>" if len(failed) > len(rows) else ""
    return "<h2>Failures</h2>" + table(("instance", "solver", "seed", "reason"), rows) + more


def _known(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
