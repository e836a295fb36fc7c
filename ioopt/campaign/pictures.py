"""The pictures of a report one by one: profiles, a metric against a setting, runs of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ioopt.campaign import frame as frames
from ioopt.campaign.store import StoreReader
from ioopt.comparing.picture import RATIO_TITLE, plot_ratios
from ioopt.errors import UsageError
from ioopt.pictures import draw_result, result_to_draw
from ioopt.quantities import title
from ioopt.registry import KINDS
from ioopt.result import Result

if TYPE_CHECKING:
    import pandas as pd

PROFILE, AGAINST, RATIOS = "profile", "against", "ratios"


def kept_results(
    paths: Sequence[str], limit: int, keys: Sequence[str] = ()
) -> Iterator[tuple[str, Result]]:
    """(key, result) of up to *limit* stored schedules, by instance, solver and seed.

    With *keys* (beginnings are enough) exactly these; UsageError for one that is not there.
    """
    found: dict[str, Result] = {}
    missing = list(keys)
    for path in paths:
        with StoreReader(path) as reader:
            wanted = reader.kept(limit - len(found)) if not keys else []
            for start in list(missing):
                matches = reader.kept(1, start)
                if matches:
                    missing.remove(start)
                    wanted += matches
            for key in wanted:
                document = reader.document(key)
                assert document is not None
                found[key] = result_to_draw(document, f"{path}: result {key[:12]}")
    if missing:
        raise UsageError(f"no stored schedule of a run whose key begins with {missing[0]!r}")
    yield from found.items()


def draw_store(
    paths: Sequence[str],
    picture: str = PROFILE,
    kind: str | None = None,
    label: str | None = None,
    run: str | None = None,
    measure: str | None = None,
) -> Any:
    """The axes of one picture of a report.

    *picture* is ``profile``, ``ratios``, ``against`` (needs a *label* when several settings were swept) or a
    picture of the stored run whose key begins with *run* (the first one by default). *kind* picks
    the kind of instance when the stores hold several; *measure* what runs are compared by.
    """
    if picture not in (PROFILE, AGAINST, RATIOS):
        stored = list(kept_results(paths, 1, () if run is None else (run,)))
        if not stored:
            raise UsageError(f"{', '.join(paths)}: no schedule is stored (keep = 'first' or 'all')")
        return draw_result(stored[0][1], picture)
    rows = _of_kind(frames.read_frame(paths, measure), kind)
    if picture == PROFILE:
        return profile(rows)
    if picture == RATIOS:
        return ratios(rows)
    labels = frames.numeric_labels(rows)
    if label is None and len(labels) == 1:
        label = labels[0]
    if label is None or label not in labels:
        known = ", ".join(labels) or "none"
        raise UsageError(f"--label: give a setting that was swept over numbers; these are: {known}")
    return against(rows, label)


def _of_kind(rows: pd.DataFrame, kind: str | None) -> pd.DataFrame:
    kinds = sorted(str(name) for name in rows["kind"].unique())
    if kind is None and len(kinds) == 1:
        kind = kinds[0]
    if kind not in kinds:
        raise UsageError(f"--kind: the stores hold {', '.join(kinds) or 'no rows'}")
    return frames.one_kind(rows, kind)


def profile(rows: pd.DataFrame) -> Any:
    """Performance profiles of the rows of one kind."""
    from ioopt.plot.curves import plot_profiles

    measure = title(metric_of(rows))
    shares = frames.profiles(rows[~rows["reference"]])
    return plot_profiles(shares, title=_title(rows, "profiles"), measure=measure)


def ratios(rows: pd.DataFrame) -> Any:
    """Ratios to the best of each instance and repeat, of the rows of one kind."""
    groups = rows[~rows["reference"]].groupby("variant", observed=True)["ratio"]
    found = {str(name): some.dropna().to_list() for name, some in groups}
    words = f"{title(metric_of(rows))} over the best of the instance"
    return plot_ratios(found, words, _title(rows, RATIO_TITLE))


def against(rows: pd.DataFrame, label: str) -> Any:
    """The compared metric of one kind against a swept setting, with 95 % intervals."""
    from ioopt.plot.curves import plot_sweep

    labels = frames.swept(rows)
    others = [name for name in labels if name != label]
    over = ", ".join([*others, "seed"])
    unplaced = frames.words_of(rows, label)
    note = f", without {label} = {', '.join(unplaced)}" if unplaced else ""
    spec = KINDS.get(str(rows["kind"].iloc[0]))
    metric = metric_of(rows)
    # What is maximised may be below 0, times, sizes and slowdowns may not.
    signed = spec is not None and spec.sense == "max" and metric == spec.objective_name
    return plot_sweep(
        frames.by_label(rows, label), label, metric,
        title=_title(rows, f"mean over {over} and its 95 % interval{note}"),
        dimension=labels.get(label) or "", floor=None if signed else 0.0,
        references=set(rows.loc[rows["reference"], "variant"].astype(str)),
    )  # fmt: skip


def _title(rows: pd.DataFrame, what: str) -> str:
    """Which instances the rows are of, and what is drawn of them."""
    from ioopt.plot.layout import shortened

    names = [str(name) for name in rows["instance"].unique()]
    found = {labels.get("preset") for _, labels in frames.objects(rows, "labels")}
    presets = sorted(str(preset) for preset in found if preset)
    count = f" ({len(names)} instances)" if len(names) > 1 else ""
    return f"{shortened(', '.join(presets or names), 48)}{count}: {what}"


def metric_of(rows: pd.DataFrame) -> str:
    """The metric that rows of one kind are compared by."""
    return str(rows["measure"].iloc[0])
