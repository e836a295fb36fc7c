"""The claims of the papers: rows of a table, how they are computed, and where their runs come from.

``scripts/papers/<paper>.toml`` has the rows. Each says what is claimed, where it stands, the paper's word,
and ``how`` it is computed: a function of the paper's module, which takes the row's other keys (whose
figures, thresholds) and returns our figure and the verdict. The module has ``claims(quick)``, its rows;
``sizes(quick)``, one line on how much is run; ``pictures(quick)`` and ``notes(rows)`` where there are any;
HEAD, where its rows have other columns, the verdict being the last. ``scripts/reproduce.py`` does the
rest: it opens a campaign, so that every run becomes a row of its store and a killed reproduction goes on
where it was. A test or a script that opens none computes the runs on the spot.
"""

from __future__ import annotations

import json
import statistics
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ioopt.campaign.study import Study
from ioopt.metrics import mean_interval

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not reproduced"
UNDECIDED = "undecided"
Found = tuple[str, str]
"""Our figure and the verdict."""
_studies: list[Study] = []


class Claim(NamedTuple):
    """One claim: what the paper says where, our figure and the verdict."""

    claim: str
    where: str
    paper: str
    ours: str
    verdict: str


class Picture(NamedTuple):
    """A figure of the page: the name of its file, its caption, the matplotlib axes."""

    name: str
    caption: str
    axes: Any


def table(paper: str) -> dict[str, Any]:
    """The tables of *paper*: ``claims``, and what else its module needs."""
    return tomllib.loads(Path(__file__).with_name(f"{paper}.toml").read_text("utf-8"))


def computed(
    rows: Sequence[Mapping[str, Any]], how: Mapping[str, Any], *context: object, **names: object
) -> Iterator[Claim]:
    """The claims of *rows*, by the functions *how*, which take *context* and the row's other keys.

    ``{name}`` in the text of a row stands for one of *names*; *how* may lack :func:`stated`.
    """
    known = {"stated": stated, **how}
    for row in rows:
        given = dict(row)
        texts = [str(given.pop(key)).format(**names) for key in ("claim", "where", "paper")]
        found = known[given.pop("how")](*context, **given)
        if found is not None:  # there is nothing to say of it
            yield Claim(*texts, *found)


def stated(*context: object, ours: str, word: str) -> tuple[str, str]:
    """What nothing is computed for."""
    return ours, word


@contextmanager
def within(study: Study) -> Iterator[None]:
    """Values asked for inside are those of *study*."""
    _studies.append(study)
    try:
        yield
    finally:
        _studies.pop()


def values_of(
    function: Callable[..., Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What *function*, a module's own, returns for each of *settings*, as JSON gives it back."""
    if _studies:
        target = f"{function.__module__}:{function.__qualname__}"
        return _studies[-1].values(target, settings)
    return [json.loads(json.dumps(function(**each))) for each in settings]


def verdict(holds: bool) -> str:
    """The word of the last column."""
    return REPRODUCED if holds else NOT


def verdict_of_several(met: Sequence[bool]) -> str:
    """The word where a claim is made of several cases: partly, when only some hold."""
    return REPRODUCED if all(met) else PARTLY if any(met) else NOT


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN for the error of one value."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return statistics.fmean(values), error


def point(at: float, values: Sequence[float]) -> tuple[float, float, float, int]:
    """One point of a curve: its place on the axis, mean and standard error, how many values."""
    return at, *mean_and_error(values), len(values)


def ratio_interval(below: Sequence[float], above: Sequence[float]) -> tuple[float, float, float]:
    """(ratio of the means, lower, upper) of paired runs, 95 %.

    The ratio estimator's linearised variance (Cochran, Sampling Techniques, Section 6.4): that of the
    mean of above - ratio x below, over the mean of below.
    """
    scale = max(statistics.fmean(below), 1e-9)
    ratio = statistics.fmean(above) / scale
    centre, low, high = mean_interval((b - ratio * a) / scale for a, b in zip(below, above))
    return ratio, ratio + low - centre, ratio + high - centre
