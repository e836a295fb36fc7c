"""Lee et al., Section 4: slopes of the synthetic applications against what the text expects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from papers.claims import Found, values_of, verdict, verdict_of_several
from pydantic import TypeAdapter

from ioopt.measure.laboratory import Laboratory
from ioopt.problems.flexgang.perturbation import (
    ENVIRONMENTS,
    Application,
    ApplicationSlopes,
    Blocking,
    PerturbationProblem,
)

TOLERANCE = 0.02
QUANTILES = 12
APPLICATION: TypeAdapter[Application] = TypeAdapter(Application)


def measured(apps: Sequence[Application], runs: int, **changes: int) -> list[ApplicationSlopes]:
    """Slopes of each of *apps* on the paper's four processors."""
    asked = [{"app": app.model_dump(mode="json"), "runs": runs, **changes} for app in apps]
    return [ApplicationSlopes.model_validate(found) for found in values_of(slopes, asked)]


def slopes(app: dict[str, Any], runs: int, **changes: int) -> dict[str, Any]:
    """The slopes of one application, as plain values."""
    problem = PerturbationProblem.model_validate({"applications": [app], "runs": runs, **changes})
    return Laboratory(problem).slopes(problem.applications[0]).model_dump(mode="json")


def slopes_of_type(
    runs: int, app: Mapping[str, Any], slopes: Sequence[float], **changes: int
) -> Found:
    """Sub_FX, Sub_RR, Add_FX and Add_RR against those of the application's type.

    A run ends with its last unit, so T comes in steps, and a slope of 20 perturbations of Workpile-2.4 is
    known to 2.4 / 20 = .12 only; of 200 to .012.
    """
    (found,) = measured([APPLICATION.validate_python(app)], runs, **changes)
    ours = [found.slopes[name] for name in ENVIRONMENTS]
    worst = max(abs(slope - wanted) for slope, wanted in zip(ours, slopes))
    shown = "Sub {:.3f}, {:.3f}, Add {:.3f}, {:.3f}".format(*ours)
    return f"{shown}; off by {worst:.3f}", verdict(worst <= TOLERANCE)


def by_length(runs: int, app: Mapping[str, Any]) -> Found:
    """Sub_FX of the coarse workpile with 20 perturbations, over all ways its last units can end.

    They repeat every 12 quanta of work, five units.
    """
    apps = [APPLICATION.validate_python(app)]
    found = [measured(apps, runs, work_quanta=120 + k)[0].slopes["Sub_FX"] for k in range(12)]
    span = f"{min(found):.3f} to {max(found):.3f}, mean {sum(found) / 12:.3f}"
    return f"{found[0]:.3f} at 120; {span}", "in steps of the unit"


def blocking(runs: int, rate: float) -> Found:
    """gamma_sub at *rate* requests a quantum, beside the model's."""
    (found,) = measured([Blocking(id=f"Blocking-{rate:g}", requests_per_quantum=rate)], runs)
    lost = 1 - (1 - math.exp(-rate / 3)) / (rate / 3)
    return f"{found.gamma_sub:.3f}; 1 - phi = {lost:.3f}", "no figure to compare"


def bursty(runs: int, crl: Mapping[str, Sequence[float]], least: float, most: float) -> Found:
    """Section 4.3 for blocking requests as bursty as Table 3 says: messages of a quantum, mean and deviation.

    A quantum's rate is drawn from a gamma distribution; what of the variance a Poisson number of messages
    does not explain is the rate's. A perturbation meets one quantum, so gamma_sub is the mean over
    the rates, taken at the middles of equally likely parts.
    """
    from scipy import stats

    said, met = [], []
    for name, (mean, deviation) in crl.items():
        scale = (deviation**2 - mean) / mean
        shares = [(part + 0.5) / QUANTILES for part in range(QUANTILES)]
        rates = [max(1e-3, float(stats.gamma.ppf(p, mean / scale, scale=scale))) for p in shares]
        apps = [Blocking(id=f"{rate:g}", requests_per_quantum=rate) for rate in (*rates, mean)]
        *parts, even = [found.gamma_sub or 0.0 for found in measured(apps, runs)]
        slope = sum(parts) / QUANTILES
        said.append(f"{name} {slope:.2f} (at an even rate {even:.2f})")
        met.append(least <= slope <= most)
    return "; ".join(said), verdict_of_several(met)
