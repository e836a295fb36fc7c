"""Write the advice in sentences: the verdict with the lines to paste, and the figures
on which it depends.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from ioopt.advice.answer import TRUSTED_SCALE, Advice, Axis, Kind
from ioopt.advice.spread import LEVEL, WORTH, Figure
from ioopt.advice.workload import LARGE
from ioopt.units import quantity

LEVEL_WORDS = f"{100 * LEVEL:g} %: "
WORTH_WORDS = f"{100 * WORTH:g} %"
PASTE = "  "
"""The characters in front of each line to paste."""


def percent(figure: Figure, of: str = "", level: str = LEVEL_WORDS) -> str:
    """Return a share in per cent, followed by "of" and the words *of*, which say what
    it is a share of, and by its interval.

    *level* is the text in front of the interval, which states its probability.

    >>> percent(Figure(0.099, 0.04, 0.15), "run time")
    '9.9 % of run time (95 %: 4.0 to 15.0)'
    """
    text = f"{_hundredths(figure.value)} %"
    if of:
        text += f" of {of}"
    if figure.low is None or figure.high is None:
        return text
    ends = f"{_hundredths(figure.low)} to {_hundredths(figure.high)}"
    return f"{text} ({level}{ends})"


def _hundredths(share: float | None) -> str:
    if share is None:
        return "-"
    decimals = 1 if abs(share) < 1 else 0
    text = f"{100 * share:.{decimals}f}"
    return "0.0" if text == "-0.0" else text


def effect(saved: Figure, level: str = LEVEL_WORDS) -> str:
    """Return the saving of run time in words; a negative saving is called a cost.

    >>> effect(Figure(0.042, 0.031, 0.05))
    'saves 4.2 % of run time (95 %: 3.1 to 5.0)'
    >>> effect(Figure(-0.232, -0.25, -0.2))
    'costs 23.2 % more run time (95 %: 20.0 to 25.0)'
    """
    if saved.value is None or saved.value >= 0:
        return f"saves {percent(saved, 'run time', level)}"
    ends: tuple[float | None, float | None] = (None, None)
    if saved.low is not None and saved.high is not None:
        ends = (-saved.high, -saved.low)
    share, _, interval = percent(Figure(-saved.value, *ends), "", level).partition(" (")
    text = f"costs {share} more run time"
    return f"{text} ({interval}" if interval else text


def fraction_text(value: float) -> str:
    """Return an I/O fraction in per cent, with two significant digits."""
    return f"{float(f'{100 * value:.2g}'):g} %"


def rate_text(value: float) -> str:
    """Return a rate with three significant digits."""
    return quantity("bytes_per_second", float(f"{value:.3g}"))


def _pays(axis: Axis, text: Callable[[float], str], falling: bool) -> str:
    """Return the words that say where on *axis* a change pays: from some value upwards
    or, if *falling*, from some value downwards.

    *text* writes a value of the axis.
    """
    if axis.pays_from.value is None:
        return f"no setting pays {_looked_at(axis, text)}"
    begins = _with_interval(axis, axis.pays_from, text, falling)
    if axis.pays_to.value is None:
        least, largest = map(text, axis.ends)
        last = f"down to {least}" if falling else f"to {largest}"
        return f"a change pays from {begins} {last} at least"
    ends = _with_interval(axis, axis.pays_to, text, falling)
    return f"a change pays from {begins} {'down to' if falling else 'to'} {ends}"


def _with_interval(
    axis: Axis, found: Figure, text: Callable[[float], str], falling: bool
) -> str:
    """Return a value of *axis* as text, with its interval in brackets.

    An end of the interval that is None lies beyond the values that were tried.
    """
    assert found.value is not None
    if found.low is None and found.high is None:
        return text(found.value)
    least, largest = axis.ends
    beyond = f"above {text(largest)}"
    if falling:
        beyond = f"below {text(least)}"
    low = beyond if found.low is None else text(found.low)
    high = beyond if found.high is None else text(found.high)
    return f"{text(found.value)} ({LEVEL_WORDS}{low} to {high})"


def _looked_at(axis: Axis, text: Callable[[float], str]) -> str:
    """Return the words that name the range of values at which a conclusion can be
    drawn.
    """
    least, largest = map(text, axis.ends)
    return f"at {least}" if least == largest else f"from {least} to {largest}"


def fraction_line(advice: Advice) -> str:
    """Return the line about the I/O fraction: its value, the source of the value, and
    from which value on a change pays, unless the verdict says this already.
    """
    axis = advice.fraction
    unknown = axis.value is None
    text = "I/O fraction: "
    if axis.value is None:
        text += "not given"
    else:
        text += f"{fraction_text(axis.value)} ({axis.source})"
    if not _told(advice, axis, unknown):
        text += f"; {_pays(axis, fraction_text, falling=False)}"
    return f"{text}. Measure yours: --io-fraction F." if unknown else f"{text}."


def storage_line(advice: Advice) -> str:
    """Return the line about the storage rate: its value, the source of the value, and
    below which value a change pays, unless the verdict says this already.
    """
    axis = advice.storage
    unknown = axis.source != "given"
    text = f"Storage rate: {rate_text(axis.shown)} ({axis.source})"
    if not _told(advice, axis, unknown):
        text += f"; {_pays(axis, rate_text, falling=True)}"
    return (
        f"{text}. State yours: --machine storage_rate=RATE." if unknown else f"{text}."
    )


def machine_line(advice: Advice) -> str:
    """Return the line about the rate of a node and the length of I/O periods."""
    rate = rate_text(advice.node_rate)
    source = "given"
    if not advice.node_rate_given:
        source = "a guess; state yours: --machine node_rate=RATE"
    period = quantity("seconds", advice.io_period_seconds)
    return (
        f"{advice.nodes} nodes of {rate} ({source}); one I/O step every {period} of a "
        "job (assumed; --io-period)."
    )


def losers(advice: Advice) -> list[str]:
    """Return a line for each group of jobs that runs clearly longer with the best
    setting, if one is advised.
    """
    if advice.verdict not in (Kind.SAVES, Kind.DEPENDS):
        return []
    lines = []
    for row in advice.savings:
        lost = -(row.run_time.value or 0.0)
        if row.option == advice.setting and lost >= WORTH:
            group = row.group
            if group == LARGE:
                group += f" ({advice.large_job_nodes} nodes or more)"
            lines.append(f"It makes {group} run {100 * lost:.1f} % longer.")
    return lines


def _deciding(advice: Advice) -> Axis:
    """Return the figure of which a verdict that depends on one says where a change
    pays.
    """
    if advice.fraction.value is None and advice.fraction.pays_from.value is not None:
        return advice.fraction
    return advice.storage


def _told(advice: Advice, axis: Axis, unknown: bool) -> bool:
    """Return whether the verdict itself says where on *axis* a change pays; *unknown*
    says that the figure is not known.
    """
    if advice.verdict == Kind.DEPENDS:
        return axis is _deciding(advice)
    return advice.verdict == Kind.NOTHING and unknown


def policy_line(advice: Advice) -> str:
    """Return the line about the best policy. It says at which I/O fractions and storage
    rates the policy would pay.
    """
    begins = [
        _policy_pays(advice.fraction, fraction_text, falling=False),
        _policy_pays(advice.storage, rate_text, falling=True),
    ]
    return (
        f"The policy {advice.policy}, which nobody can switch on today, would pay: "
        f"I/O fraction, {begins[0]}; storage rate, {begins[1]}."
    )


def _policy_pays(axis: Axis, text: Callable[[float], str], falling: bool) -> str:
    begin = axis.policy_pays_from
    if begin.value is None:
        return f"nowhere {_looked_at(axis, text)}"
    direction = "down" if falling else "on"
    return f"from {_with_interval(axis, begin, text, falling)} {direction}"


def place(advice: Advice) -> str:
    """Return the words that name the I/O fraction and the storage rate for which the
    figures were computed.
    """
    fraction = f"{fraction_text(advice.fraction.shown)} I/O"
    return f"at {fraction} and a storage of {rate_text(advice.storage.shown)}"


def sentence(advice: Advice) -> str:
    """Return the verdict as one or two sentences."""
    best = advice.switch
    told = f"{effect(best.saves)} {place(advice)}"
    if advice.verdict == Kind.SAVES:
        return f"Switch on {best.words}. It {told}."
    if advice.verdict == Kind.NOTHING:
        return (
            f"Change nothing: {_nowhere(advice)}the best setting, {best.name}, {told}."
        )
    if advice.verdict == Kind.UNCERTAIN:
        why = f"less and more than {WORTH_WORDS} are both possible"
        if _unknown(advice):
            why += f", there or at other values of {' and '.join(_unknown(advice))}"
        if not advice.node_rate_given:
            rate = rate_text(advice.node_rate)
            why = f"the rate of a node, {rate}, is a guess, which decides too"
        if advice.scale < TRUSTED_SCALE:
            why = (
                f"{100 * (1 - advice.scale):.0f} % of the I/O time is waiting there, "
                "so the answer depends on what the jobs really write: give Darshan "
                "logs (--darshan)"
            )
        return f"Inconclusive: the best setting, {best.name}, {told}; {why}."
    if _deciding(advice) is advice.fraction:
        pays = _pays(advice.fraction, fraction_text, falling=False)
    else:
        pays = _pays(advice.storage, rate_text, falling=True)
    unknown = " and ".join(_unknown(advice))
    return f"It depends on {unknown}: {pays}. The best setting, {best.name}, {told}."


def _unknown(advice: Advice) -> list[str]:
    """Return words for those of the two deciding figures that are not known."""
    unknown = []
    if advice.fraction.value is None:
        unknown.append("the I/O fraction, which is not given")
    if advice.storage.source != "given":
        unknown.append("the storage's rate, which is a guess")
    return unknown


def _nowhere(advice: Advice) -> str:
    """Return the words that say in which ranges of the unknown figures no setting pays;
    empty if both figures are known.
    """
    ranges = []
    if advice.fraction.value is None:
        ranges.append(f"{_looked_at(advice.fraction, fraction_text)} I/O")
    if advice.storage.source != "given":
        ranges.append(f"{_looked_at(advice.storage, rate_text)} of storage")
    if not ranges:
        return ""
    return f"no setting pays {' or '.join(ranges)}; "


def answer(advice: Advice) -> list[str]:
    """Return the answer as lines: the verdict with the lines to paste, the figures on
    which it depends, and who loses.
    """
    pasted = () if advice.pasted is None else advice.pasted.lines
    return [
        sentence(advice),
        *(PASTE + line for line in pasted),
        fraction_line(advice),
        storage_line(advice),
        machine_line(advice),
        *losers(advice),
    ]


def wrapped_answer(advice: Advice, width: int) -> list[str]:
    """Return the answer in lines of at most *width* characters; the lines to paste stay
    whole.
    """
    lines = []
    for line in answer(advice):
        if line.startswith(PASTE):
            lines.append(line)
        else:
            lines += textwrap.wrap(line, width, break_on_hyphens=False)
    return lines


def cost_line(advice: Advice) -> str:
    """Return the line about the largest possible saving."""
    ideal = percent(advice.policy_saves, "run time")
    return (
        f"Congestion costs {percent(advice.cost, 'run time')} {place(advice)}; a file "
        f"system that stops and resumes transfers, as {advice.policy} needs, would "
        f"save {ideal}."
    )


def load_line(advice: Advice) -> str:
    """Return the line about the log and the load of the machine."""
    above = advice.node_hours_above_machine
    hours = advice.node_utilisation * advice.nodes * advice.span_seconds / 3600
    return (
        f"{advice.jobs} jobs in {quantity('span_seconds', advice.span_seconds)} on "
        f"{advice.nodes} nodes use {100 * advice.node_utilisation:.0f} % of the nodes; "
        f"each starts when the log says, so waits are not predicted, and {above:.0f} "
        f"of {hours:.0f} node-hours are above the machine."
    )
