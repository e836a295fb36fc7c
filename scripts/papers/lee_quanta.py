"""Lee et al., Figures 2 and 3: the statements of the text against both engines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from statistics import fmean

from papers.claims import Claim, values_of, verdict

from ioopt.measure.quantum_chain import measure
from ioopt.measure.quantum_event import simulate_point
from ioopt.problems.flexgang.quantum_model import QuantumModelProblem, QuantumPoint, TwoJobMeasures

SWEEP = range(1, 41)
FIGURE_2, FIGURE_3 = (2.5, 5.0, 10.0, 20.0), (10.0, 20.0, 40.0)
LOW_INVERSION = 1.45
"""The text gives no figure for "low"; this is as low as its own regions at 10 to 15 ms are."""
Found = dict[tuple[float, float], TwoJobMeasures]


def claims(quick: bool) -> list[Claim]:
    """Both sweeps with both engines against the statements of the text."""
    pairs = [(qi, float(qc)) for qi, qc in product(FIGURE_2, SWEEP)]
    pairs += [
        (float(qi), qc) for qi, qc in product(SWEEP, FIGURE_3) if (float(qi), qc) not in pairs
    ]
    horizon = horizon_of(quick)
    chain = measured(pairs, "chain", horizon)
    event = measured(pairs, "event", horizon)
    low = measured([(float(qi), 10.0) for qi in SWEEP], "chain", horizon, donation="irrevocable")
    return [*_agreement(chain, event), *_figure2(chain), *_figure3(chain), _irrevocable(chain, low)]


def horizon_of(quick: bool) -> float | None:
    """Simulated seconds a pair; None for the model's own."""
    return 20.0 if quick else None


def measured(
    pairs: Sequence[tuple[float, float]], engine: str, horizon: float | None, **changes: object
) -> Found:
    """What *engine* finds for every pair of quanta (qi, qc) in milliseconds."""
    asked = [
        {"qi": qi, "qc": qc, "engine": engine, "horizon": horizon, **changes} for qi, qc in pairs
    ]
    found = values_of(one_pair, asked)
    return {pair: TwoJobMeasures(**each) for pair, each in zip(pairs, found)}


def one_pair(
    qi: float, qc: float, engine: str, horizon: float | None, **changes: object
) -> dict[str, float]:
    """The measures of one pair."""
    problem, point = _model(qi, qc, horizon, **changes)
    found = measure(problem, point) if engine == "chain" else simulate_point(problem, point, seed=1)
    return found._asdict()


def _model(
    qi: float, qc: float, horizon: float | None, **changes: object
) -> tuple[QuantumModelProblem, QuantumPoint]:
    point = QuantumPoint(qi_seconds=qi / 1000, qc_seconds=qc / 1000)
    problem = {"points": (point,), "horizon_seconds": horizon, **changes}
    return QuantumModelProblem.model_validate(problem), point


def _agreement(chain: Found, event: Found) -> list[Claim]:
    slow = max(abs(chain[pair].slowdown / event[pair].slowdown - 1) for pair in chain)
    frag = max(abs(chain[pair].fragmentation - event[pair].fragmentation) for pair in chain)
    bound = min(chain[qi, qc].slowdown / max(1.0, 0.2 * (1 + qc / qi)) for qi, qc in chain)
    text = f"{100 * slow:.2f} % and {frag:.4f} at worst over {len(chain)} points"
    return [
        Claim("event simulator and chain agree", "ours", "1 % slowdown, .01 fragmentation", text,
              verdict(slow <= 0.01 and frag <= 0.01)),
        Claim("slowdown >= max(1, .2 (1 + qc/qi))", "ours", "at every point",
              f"least slowdown / bound {bound:.4f}", verdict(bound >= 1 - 1e-6)),
    ]  # fmt: skip


def _rises(values: Sequence[float], slack: float = 1e-4) -> float:
    """Share of steps that do not fall by more than *slack*."""
    return sum(after >= before - slack for before, after in pairwise(values)) / (len(values) - 1)


def _peaks(values: Sequence[float], slack: float = 1e-4) -> int:
    """Inner local maxima that stand out by more than *slack* on both sides (plateaus count once)."""
    turns = [step for step in (b - a for a, b in pairwise(values)) if abs(step) > slack]
    return sum(before > 0 > after for before, after in pairwise(turns))


def _figure2(found: Found) -> list[Claim]:
    """The statements on a longer compute quantum."""
    slow = {qi: [found[qi, float(qc)].slowdown for qc in SWEEP] for qi in FIGURE_2}
    frag = {qi: [found[qi, float(qc)].fragmentation for qc in SWEEP] for qi in FIGURE_2}
    up = {qi: _rises(slow[qi]) for qi in FIGURE_2}
    down = {qi: _rises([-x for x in frag[qi]]) for qi in FIGURE_2}
    ends = ", ".join(f"qi {qi:g}: {slow[qi][0]:.2f} -> {slow[qi][-1]:.2f}" for qi in FIGURE_2)
    frags = ", ".join(f"qi {qi:g}: {frag[qi][0]:.3f} -> {frag[qi][-1]:.3f}" for qi in FIGURE_2)
    waves, bumps = ([_peaks(x[qi]) for qi in FIGURE_2] for x in (slow, frag))
    share = f"; steps that rise: {min(up.values()):.0%} or more"
    fall = f"; steps that fall: {min(down.values()):.0%} or more"
    return [
        Claim("a longer qc increases priority inversion", "Section 3.2, Figure 2", "in general",
              ends + share, verdict(all(x[-1] > x[0] for x in slow.values()) and min(up.values()) > 0.5)),
        Claim("a longer qc reduces fragmentation", "Section 3.2, Figure 2", "in general",
              frags + fall, verdict(all(x[-1] < x[0] for x in frag.values()))),
        Claim('"waviness" of priority inversion', "Section 3.2, Figure 2", "harmonics with 25 ms",
              f"local maxima at qi 2.5, 5, 10, 20: {waves}; slopes vary {_wavy(slow)}",
              verdict(any(waves) or _uneven(slow))),
        Claim('"bumps" of fragmentation', "Section 3.2, Figure 2", "harmonics with 25 ms",
              f"local maxima at qi 2.5, 5, 10, 20: {bumps}; plateaus only", verdict(any(bumps))),
        Claim("quanta of the I/O job", "Figure 2", "text 2.5/5/10, caption 2.5/10/20",
              "2.5, 5, 10 and 20 run", "text and caption disagree"),
    ]  # fmt: skip


def _steps(values: Sequence[float]) -> list[float]:
    return [b - a for a, b in pairwise(values)]


def _wavy(slow: dict[float, list[float]]) -> str:
    return ", ".join(f"{min(_steps(x)):+.3f} to {max(_steps(x)):+.3f}" for x in slow.values())


def _uneven(slow: dict[float, list[float]]) -> bool:
    """Whether slopes swing: some curve goes steep, flat (under a third) and steep again."""
    for values in slow.values():
        steps = _steps(values)
        flat = min(range(1, len(steps) - 1), key=lambda k: steps[k])
        if steps[flat] < min(max(steps[:flat]), max(steps[flat + 1 :])) / 3:
            return True
    return False


def _figure3(found: Found) -> list[Claim]:
    """The statements on a longer I/O quantum."""
    slow = {qc: [found[float(qi), qc].slowdown for qi in SWEEP] for qc in FIGURE_3}
    frag = {qc: [found[float(qi), qc].fragmentation for qi in SWEEP] for qc in FIGURE_3}
    ends = ", ".join(f"qc {qc:g}: {slow[qc][0]:.2f} -> {slow[qc][-1]:.2f}" for qc in FIGURE_3)
    frags = ", ".join(f"qc {qc:g}: {frag[qc][0]:.3f} -> {frag[qc][-1]:.3f}" for qc in FIGURE_3)
    against = [sum(step > 1e-4 for step in _steps(slow[qc])) for qc in FIGURE_3]
    second = {qi: [found[qi, float(qc)].slowdown for qc in SWEEP] for qi in FIGURE_2}
    before = [sum(step < -1e-4 for step in _steps(second[qi])) for qi in FIGURE_2]
    rows = [
        Claim("a longer qi reduces priority inversion", "Section 3.2, Figure 3", "generally",
              ends, verdict(all(x[-1] < x[0] for x in slow.values()))),
        Claim("a longer qi increases fragmentation", "Section 3.2, Figure 3", "generally",
              frags, verdict(all(x[-1] > x[0] for x in frag.values()))),
        Claim("deviations from the trend are more prominent than in Figure 2", "Section 3.2, Figure 3",
              "harmonics", f"steps of 39 that go against it: {against} at qc 10, 20, 40; in Figure 2 "
              f"{before} at qi 2.5, 5, 10, 20", verdict(fmean(against) > fmean(before))),
    ]  # fmt: skip
    for qc, begin, end in ((10.0, 10, 15), (10.0, 25, 40), (20.0, 10, 15), (20.0, 25, 40)):
        part, least = slow[qc][begin - 1 : end], min(slow[qc])
        rows.append(
            Claim(
                f"low inversion at qc {qc:g}, qi {begin} to {end}, where fragmentation is high",
                "Section 3.2, end",
                "low",
                f"slowdown {min(part):.2f} to {max(part):.2f} (least of the curve {least:.2f}), {part[0]:.2f}"
                f" at qi {begin}; fragmentation {min(frag[qc][begin - 1 : end]):.2f} to "
                f"{max(frag[qc][begin - 1 : end]):.2f}",
                verdict(max(part) <= LOW_INVERSION),
            )
        )
    return rows


def _irrevocable(chain: Found, kept: Found) -> Claim:
    """The other reading of "remaining time quantum is donated" loses the low-inversion region."""
    mine = max(chain[float(qi), 10.0].slowdown for qi in range(25, 41))
    other = min(kept[float(qi), 10.0].slowdown for qi in range(25, 41))
    return Claim(
        "a donated CPU comes back when the I/O completes", "Section 3.2", "not said",
        f"qc 10, qi 25 to 40: at most {mine:.2f} with return, at least {other:.2f} when irrevocable",
        "return fits the text" if other > mine else "cannot be told",
    )  # fmt: skip
