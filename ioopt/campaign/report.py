"""One self-contained HTML page for one or more stores: tables, profiles, curves, timelines."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ioopt.campaign import frame as frames
from ioopt.campaign import pictures
from ioopt.campaign.store import FAILED
from ioopt.campaign.work import FAMILY
from ioopt.comparing.measures import COUNTED, NOT_APPLICABLE
from ioopt.pictures import DEFAULT, drawn
from ioopt.provenance import synthetic_footnote
from ioopt.quantities import column, quantity, show
from ioopt.tables import percent

if TYPE_CHECKING:
    import pandas as pd

MAX_FAILURES = 200
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;border-bottom:1px solid #d8dee4;text-align:right}
th{background:#f6f8fa}td:first-child,th:first-child,td.t,th.t{text-align:left}
figure{margin:1rem 0}figcaption{color:#57606a}svg{max-width:100%;height:auto}
"""


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
    parts.append("<h2>Versions</h2>" + _table(("package", "version"), frames.versions(frame)))
    body = "\n".join(parts)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<link rel="icon" href="data:,">'
        f"<title>ioopt report</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )


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
    return _table(("what", "value"), facts)


def _kind(frame: pd.DataFrame) -> Iterator[str]:
    """The section of one kind of instance: table, profile, curves."""
    metric = pictures.metric_of(frame)
    kind = frame["kind"].iloc[0]
    yield f"<h2>{html.escape(kind)}: exact against heuristic, by {html.escape(metric)}</h2>"
    table = frames.summary(frame)
    headers = ("solver", "runs", "proven optimal", *COUNTED, "mean gap",
               "ratio to best (geometric mean)", "worst ratio", "wins", "median time")  # fmt: skip
    times = column("seconds", [_known(value) for value in table["median_seconds"]])
    lines = [
        (row["variant"], row["runs"], row["proven"], *(row[what] for what in COUNTED),
         percent(_known(row["mean_gap"])), _known(row["mean_ratio"]), _known(row["worst_ratio"]),
         row["wins"], time)
        for row, time in zip(table.to_dict("records"), times)
    ]  # fmt: skip
    yield (
        f"<p>Gaps and ratios are of {html.escape(metric)}; their means are over the "
        f"{table['common'].iloc[0]} instances that all solvers with answers answered.</p>"
    )
    yield _table(headers, lines)
    footnote = synthetic_footnote(frame.loc[frame["synthetic_io"] > 0, "instance"].astype(str))
    if footnote:
        yield f"<p>{html.escape(footnote)}</p>"
    caption = "Performance profile: share of runs within a factor of the best."
    if not _can_draw():
        yield "<p>Pictures need matplotlib: pip install 'ioopt[plot]'.</p>"
        return
    yield _figure(pictures.profile(frame), caption)
    for label in frames.numeric_labels(frame) if frame["value"].notna().any() else ():
        caption = f"{metric} against {label}: mean and its 95 % interval."
        yield _figure(pictures.against(frame, label), caption)


def _can_draw() -> bool:
    return find_spec("matplotlib") is not None


def _experiments(frame: pd.DataFrame) -> str:
    headers = ("study", "function", "runs", "failed", "time of computing")
    lines = [
        (row.instance, row.solver, row.runs, row.failed, quantity("seconds", _known(row.seconds)))
        for row in frames.experiments(frame).itertuples()
    ]
    return "<h2>Experiments</h2>" + _table(headers, lines)


def _timelines(paths: Sequence[str], limit: int, runs: Sequence[str]) -> Iterator[str]:
    """Every picture of the stored schedules asked for."""
    stored = list(pictures.kept_results(paths, limit, runs)) if _can_draw() else []
    if stored:
        yield "<h2>Timelines of stored runs</h2>"
    for key, result in stored:
        caption = f"{result.instance}, {result.solver}, seed {result.seed}, run {key[:12]}"
        figures = [
            _figure(axes, caption if picture == DEFAULT else f"{caption}, {picture}")
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
    return "<h2>Failures</h2>" + _table(("instance", "solver", "seed", "reason"), rows) + more


def _known(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def _table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headers)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(value: Any) -> str:
    of_text = isinstance(value, str) and not value[:1].isdigit()
    return ('<td class="t">' if of_text else "<td>") + html.escape(show(value)) + "</td>"


def _figure(axes: Any, caption: str) -> str:
    from ioopt.plot.save import svg_text

    return (
        f"<figure>{svg_text(axes.figure)}<figcaption>{html.escape(caption)}</figcaption></figure>"
    )
