"""Write the report of run stores: one HTML page of tables and pictures that loads no
other file.
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
from ioopt.comparing.picture import RATIO_TITLE, RatioPanel, plot_ratios
from ioopt.comparing.table import interval
from ioopt.errors import UsageError
from ioopt.metrics import Pair
from ioopt.plot.layout import shortened
from ioopt.plot.page import NO_PICTURES, can_draw, figure, page, table
from ioopt.tables import percent
from ioopt.units import column, quantity
from ioopt.verdict import heading as heading_of

RATIOS = "ratios"


def draw_store(
    paths: Sequence[str],
    picture: str = RATIOS,
    kind: str | None = None,
    measure: str | None = None,
) -> Any:
    """Draw a picture of the stores at *paths* and return its axes; the only picture is
    ``ratios``.

    *kind* chooses the kind of instance when the stores contain several kinds. *measure*
    names the metric by which runs are compared.
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
    """Draw the ratio of each row to the best row of the same instance and repeat, and
    return the axes; all rows are of one kind.
    """
    groups = rows[~rows["reference"]].groupby("variant", observed=True)["ratio"]
    found = {
        str(name): [Pair(str(row), ratio) for row, ratio in some.dropna().items()]
        for name, some in groups
    }
    heading = heading_of(rows["kind"].iloc[0], metric_of(rows))
    words = f"{heading} over the best of the instance"
    return plot_ratios([RatioPanel(found)], words, f"{_instances(rows)}: {RATIO_TITLE}")


def _instances(rows: pd.DataFrame) -> str:
    """Return text that names the instances of the rows: their presets or, if none has a
    preset, their names.
    """
    names = [str(name) for name in rows["instance"].unique()]
    found = {labels.get("preset") for _, labels in frames.objects(rows, "labels")}
    presets = sorted(str(preset) for preset in found if preset)
    text = shortened(", ".join(presets or names), 48)
    if len(names) > 1:
        text += f" ({len(names)} instances)"
    return text


def metric_of(rows: pd.DataFrame) -> str:
    """Return the name of the metric by which the rows, all of one kind, are
    compared.
    """
    return str(rows["measure"].iloc[0])


MOST_FAILURES = 200
"""The largest number of failures that a report lists."""


def report_html(paths: Sequence[str], measure: str | None = None) -> str:
    """Return the report of the stores at *paths* as HTML; *measure* names the metric by
    which runs are compared.
    """
    frame = frames.read_frame(paths, measure)
    parts = [f"<h1>Runs of {html.escape(', '.join(paths))}</h1>", _overview(frame)]
    for kind in sorted(frame["kind"].unique()):
        rows = frames.one_kind(frame, kind)
        if kind == FAMILY:
            parts.append(_experiments(rows))
        else:
            parts += _kind(rows)
    parts.append(_failures(frame))
    versions = table(("package", "version"), frames.versions(frame))
    parts.append(f"<h2>Versions</h2>{versions}")
    return page("ioopt report", "\n".join(parts))


def _overview(frame: pd.DataFrame) -> str:
    """Return a table with the numbers of runs, instances and solvers of all kinds
    together.
    """
    machines = sorted(str(name) for name in frame["machine"].unique())
    facts = [
        ("runs", len(frame)),
        ("instances", frame["digest"].nunique()),
        ("solvers", frame["variant"].nunique()),
        ("proven optimal", int((frame["standing"] == "optimal").sum())),
        (NOT_APPLICABLE, int((frame["standing"] == NOT_APPLICABLE).sum())),
        ("crashed", int((frame["status"] == FAILED).sum())),
        ("with violations", int((frame["violations"] > 0).sum())),
        ("machines", ", ".join(machines)),
    ]
    return table(("what", "value"), facts)


def _kind(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the parts of the section on one kind of instance: a table of solvers, and a
    picture of ratios.
    """
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
        f"{found['common'].iloc[0]} instances that every solver solved (not "
        "counting solvers that solved none).</p>"
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
    """Return the section on the experiments of studies: runs, crashes and time of each
    function.
    """
    headers = ("study", "function", "runs", "crashed", "computing time")
    lines = []
    for row in frames.experiments(frame).itertuples():
        seconds = quantity("seconds", _known(row.seconds))
        lines.append((row.instance, row.solver, row.runs, row.crashed, seconds))
    return f"<h2>Experiments</h2>{table(headers, lines)}"


def _failures(frame: pd.DataFrame) -> str:
    """Return the section on the runs that crashed or broke a rule, with the reasons."""
    failed = frame[frame["status"].isin([FAILED, "error"])]
    if failed.empty:
        return "<h2>Failures</h2><p>None.</p>"
    lines = []
    for row in failed.head(MOST_FAILURES).itertuples():
        reason = row.error or row.status
        lines.append((row.instance, row.variant, row.seed, reason))
    headers = ("instance", "solver", "seed", "reason")
    section = f"<h2>Failures</h2>{table(headers, lines)}"
    if len(failed) > len(lines):
        section += f"<p>{len(failed) - len(lines)} more.</p>"
    return section


def _known(value: Any) -> float | None:
    """Return a cell of a pandas table as a number; None if the cell has no value."""
    if value is None or value != value:
        return None
    return float(value)
