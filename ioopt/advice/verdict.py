"""Write the advice in sentences: the verdict with the lines to paste, and the figures
on which it depends.
"""

from __future__ import annotations

import math
import re
import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ioopt.advice.answer import (
    BY_DARSHAN,
    MOST_WAITING,
    NEAR,
    Advice,
    Axis,
    Kind,
    verdict_kind,
)
from ioopt.advice.spread import DAY, LEVEL, WORTH, Figure
from ioopt.advice.workload import LARGE
from ioopt.units import counted, quantity

LEVEL_WORDS = f"{100 * LEVEL:g} %: "
WORTH_WORDS = f"{100 * WORTH:g} %"
MOST_WAITING_WORDS = f"{100 * MOST_WAITING:g} %"
_UNIT = re.compile(r"(?<=\d) (?=%|min|[kMGTP]?B/s)")
"""The space between a number and its unit, at which no line ends."""
MACHINE = "--machine "
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
    if text == f"{100 * WORTH:.1f}":  # on which side of the limit it is must be seen
        text = f"{100 * share:.2f}"
    return "0.0" if text == "-0.0" else text


def effect(saved: Figure, level: str = LEVEL_WORDS) -> str:
    """Return the saving of run time in words. A negative saving is called a cost,
    within the noise if its interval holds 0, and one that is rounded to 0 nothing.

    >>> effect(Figure(0.042, 0.031, 0.05))
    'saves 4.2 % of run time (95 %: 3.1 to 5.0)'
    >>> effect(Figure(-0.232, -0.25, -0.2))
    'costs 23.2 % more run time (95 %: 20.0 to 25.0)'
    >>> effect(Figure(-0.0002, -0.008, 0.007))
    'saves nothing (95 %: -0.8 to 0.7)'
    >>> effect(Figure(-0.001, -0.009, 0.006))
    'costs 0.1 % of run time, within the noise (95 %: costs 0.9 to saves 0.6)'
    """
    if _hundredths(saved.value) == "0.0":
        return percent(saved, "", level).replace("0.0 %", "saves nothing", 1)
    if saved.value is None or saved.value >= 0:
        return f"saves {percent(saved, 'run time', level)}"
    if saved.low is not None and saved.high is not None and saved.high >= 0:
        noise = f"costs {_hundredths(-saved.low)} to saves {_hundredths(saved.high)}"
        cost = f"{_hundredths(-saved.value)} %"
        return f"costs {cost} of run time, within the noise ({level}{noise})"
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


def period_text(value: float) -> str:
    """Return an I/O period in minutes, with three significant digits."""
    return f"{value / 60:.3g} min"


@dataclass(frozen=True)
class _Line:
    """How to write about an axis: its name, the function that writes a value of it, the
    option that states it, and whether a change pays below (*falling*) some value.
    """

    name: str
    axis: Axis
    text: Callable[[float], str]
    option: str
    falling: bool = False

    def where(self) -> str:
        """Return the words that say where on the axis a change pays, what was tried,
        and whether this tells nothing at the value shown.
        """
        if self.axis.told_at_shown:
            return self._where()
        waiting = f"over {MOST_WAITING_WORDS} of the I/O time is waiting"
        if not self._kinds():
            return f"where a change pays is not known: {waiting} at all values tried"
        here = self.text(self.axis.shown)
        return f"{self._where()}; not known at {here}, where {waiting}"

    def _where(self) -> str:
        """Return where a change pays, of the values at which this can be told."""
        low, high = self.axis.pays_from, self.axis.pays_to
        kinds = set(self._kinds().values())
        if low.value is None:
            if Kind.UNCERTAIN in kinds:
                return f"none pays on average{self._tried(' at ')}, but one may"
            return f"no setting pays{self._tried(' at ')}"
        if self.falling:
            low, high = high, low
        least, largest = self.axis.ends
        begins = low.value is not None and low.value > least
        ends = high.value is not None and high.value < largest
        if not begins and not ends:
            sure = self._sure()
            mean = " on average" if sure else ""
            tried = self._tried(f"{mean} at all of ")
            return f"pays{tried}{sure or self._one_setting()}"
        begins = begins and self._is_told_apart(low.value, above=True)
        ends = ends and self._is_told_apart(high.value, above=False)
        if begins and ends:
            place = f"from {self._limit(low)} to {self._limit(high)}"
        elif begins:
            place = f"above {self._limit(low)}"
        elif ends:
            place = f"below {self._limit(high)}"
        else:
            return f"the noise hides where a change pays{self._tried(' at ')}"
        return f"pays {place}{self._tried_beyond(begins, ends)}"

    def _sure(self) -> str:
        """Return at which of the values a change pays by more than noise, with a comma
        in front; empty text if at all.
        """
        kinds = self._kinds()
        sure = [self.text(value) for value in kinds if kinds[value] == Kind.SAVES]
        if len(sure) == len(kinds):
            return ""
        if not sure:
            return ", but surely at none"
        return f", but surely only at {_listed(sure)}"

    def _one_setting(self) -> str:
        """Return where the setting of the value shown pays at the same level, if not
        at all values tried, with a comma in front; else empty text.
        """
        saves_at = self.axis.saves_at
        if saves_at is None or len(saves_at) == len(self._kinds()):
            return ""
        of = f"the setting of {self.text(self.axis.shown)}"
        if not saves_at:
            return f", but {of} surely at none"
        return f", but {of} surely only at {_listed(list(map(self.text, saves_at)))}"

    def _tried_beyond(self, begins: bool, ends: bool) -> str:
        """Return the words that say how far a change was tried where it pays; empty
        text if no further than at the value shown.
        """
        least, largest = self.axis.ends
        tried = largest if begins else least
        if begins == ends or tried == self.axis.shown:
            return ""
        return f", tried {'up' if begins else 'down'} to {self.text(tried)}"

    def _kinds(self) -> dict[float, Kind]:
        """Return the conclusion at each value at which one can be drawn."""
        return {
            point.value: verdict_kind(point.setting, point.waiting)
            for point in self.axis.points
            if point.trusted
        }

    def _is_told_apart(self, limit: float | None, above: bool) -> bool:
        """Return whether *limit*, beyond which a change pays (*above*, or below), is
        more than noise.

        On one of its sides some interval must be clear of what is worth a change. If a
        change pays on the other side than expected, this must hold on both sides.
        """
        assert limit is not None
        kinds = self._kinds().items()
        pays = any(
            kind == Kind.SAVES and (value > limit) == above for value, kind in kinds
        )
        not_beyond = any(
            kind == Kind.NOTHING and (value > limit) != above for value, kind in kinds
        )
        if above == self.falling:
            return pays and not_beyond
        return pays or not_beyond

    def _tried(self, words: str) -> str:
        """Return *words* and the range of values at which a conclusion can be drawn; if
        it is a single value, "at" and this value, or empty text if it is the one shown.
        """
        least, largest = self.axis.ends
        if self.text(least) == self.text(largest):
            return "" if least == self.axis.shown else f" at {self.text(least)}"
        return words + _span(self.text(least), self.text(largest))

    def _limit(self, found: Figure) -> str:
        """Return a value of the axis, with its interval in brackets; an end of the
        interval beyond the values tried is written as "under" or "over" them.
        """
        assert found.value is not None
        text = self.text(found.value)
        if found.low is None and found.high is None:
            return text
        least, largest = self.axis.ends
        beyond = least if self.falling else largest
        low = beyond if found.low is None else found.low
        high = largest if found.high is None else found.high
        if low <= least and high >= largest:
            return f"{text} (very uncertain)"
        first = ("under " if low <= least else "") + self.text(max(low, least))
        last = ("over " if high >= largest else "") + self.text(min(high, largest))
        unit = text[text.index(" ") :]
        return f"{text} ({f'between {first} and {last}'.replace(unit, '')})"


def _span(low: str, high: str) -> str:
    """Return "*low* to *high*", with a common unit said once.

    >>> _span("6.9 %", "9.3 %"), _span("640 MB/s", "1 GB/s")
    ('6.9 to 9.3 %', '640 MB/s to 1 GB/s')
    """
    number, _, unit = low.partition(" ")
    if high.partition(" ")[2] == unit:
        return f"{number} to {high}"
    return f"{low} to {high}"


def _listed(values: Sequence[str]) -> str:
    """Return *values* with "and" before the last, and a common unit said once.

    >>> _listed(["30 min", "60 min", "120 min"]), _listed(["640 MB/s", "1 GB/s"])
    ('30, 60 and 120 min', '640 MB/s and 1 GB/s')
    """
    *others, last = values
    unit = last.partition(" ")[2]
    if all(value.endswith(f" {unit}") for value in others):
        others = [value.partition(" ")[0] for value in others]
    return f"{', '.join(others)} and {last}" if others else last


def _lines(advice: Advice) -> list[_Line]:
    """Return the axes of *advice* in the order in which they are written."""
    return [
        _Line("I/O fraction", advice.fraction, fraction_text, "--io-fraction F"),
        _Line(
            "storage rate",
            advice.storage,
            rate_text,
            "--machine storage_rate=RATE",
            falling=True,
        ),
        _Line(
            "I/O period", advice.period, period_text, "--io-period TIME", falling=True
        ),
    ]


def axis_lines(advice: Advice) -> list[str]:
    """Return a line for each axis: its value, the source of the value, and where a
    change pays. The fraction and the period are those of jobs without a Darshan log.
    """
    lines = []
    if not advice.assumed_jobs:
        share = fraction_text(advice.fraction.shown)
        lines.append(f"I/O of all {advice.jobs} jobs by Darshan: {share} of run time.")
    for line in _lines(advice):
        axis = line.axis
        if axis is not advice.storage and not advice.assumed_jobs:
            continue
        value = f"{line.text(axis.shown)} ({axis.source})"
        if axis.value is None and axis is advice.fraction:
            value = "(not given)" if advice.measured_jobs else "not given"
        where = "" if len(axis.points) == 1 else f": {line.where()}"
        name = line.name[0].upper() + line.name[1:].removesuffix(" rate")
        lines.append(f"{name}{_whose(advice, axis)} {value}{where}.")
    return lines


def _whose(advice: Advice, axis: Axis) -> str:
    """Return the words that say of which jobs *axis* is, with a space in front; empty
    text if of all.
    """
    if axis is advice.storage or not advice.measured_jobs:
        return ""
    jobs = counted(advice.assumed_jobs, "job")
    if axis is advice.period:
        return f" of those {jobs}"
    return f" of the {jobs} without a Darshan log"


MEASURED = (
    "Measured I/O time holds the congestion of its time, which is simulated on top of "
    "it."
)


def assumption(advice: Advice) -> str:
    """Return the sentences about the I/O that decide how much is saved."""
    told = []
    if advice.assumed_jobs:
        whose = " without a Darshan log" if advice.measured_jobs else ""
        told.append(
            f"Assumed: jobs{whose} do I/O at full rate (their nodes', up to the "
            "storage's). If yours is slower, less is saved."
        )
    if advice.fraction.source == BY_DARSHAN:
        told.append(MEASURED)
    return " ".join(told)


def machine_line(advice: Advice) -> str:
    """Return the line about the nodes and the rate of a node, with their sources."""
    source = "given"
    if not advice.node_rate_given:
        source = "a guess; state yours: --machine node_rate=RATE"
    return (
        f"Machine: {advice.nodes} nodes ({advice.nodes_source}) of "
        f"{rate_text(advice.node_rate)} ({source})."
    )


def losers(advice: Advice) -> str:
    """Return the sentence about the groups of jobs that run clearly longer with the
    best setting, with a space in front, if one may be advised; empty if there are none.
    """
    saved = advice.switch.saves.value or 0.0
    if advice.verdict not in (Kind.SAVES, Kind.DEPENDS) or saved < WORTH:
        return ""
    groups = []
    for row in advice.savings:
        lost = -(row.run_time.value or 0.0)
        if row.option == advice.setting and lost >= WORTH:
            group = row.group
            if group == LARGE:
                group += f" ({counted(advice.large_job_nodes, 'node')} or more)"
            groups.append(f"{group} {100 * lost:.1f} %")
    if not groups:
        return ""
    return f" Some jobs run longer: {', '.join(groups)}."


def policy_line(advice: Advice) -> str:
    """Return the line about the best policy. It says at which I/O fractions and storage
    rates the policy would pay.
    """
    begins = [_policy_pays(advice.storage, rate_text, "below") + " of storage"]
    if advice.assumed_jobs:
        pays = _policy_pays(advice.fraction, fraction_text, "above")
        begins.insert(0, f"{pays} I/O")
    who = (
        ", which no file system of today can follow," if advice.policy_suspends else ""
    )
    return (
        f"With the policy {advice.policy}{who} a change would pay "
        f"{', and '.join(begins)}."
    )


def _policy_pays(axis: Axis, text: Callable[[float], str], side: str) -> str:
    begin = axis.policy_pays_from.value
    least, largest = axis.ends
    if begin is None:
        return f"nowhere from {_span(text(least), text(largest))}"
    if not least < begin < largest:
        return f"at all of {_span(text(least), text(largest))}"
    return f"{side} {text(begin)}"


def place(advice: Advice) -> str:
    """Return the words that name the I/O fraction and the storage rate for which the
    figures were computed.
    """
    fraction = f"{fraction_text(advice.fraction.shown)} I/O"
    return f"at {fraction} and a storage of {rate_text(advice.storage.shown)}"


def sentence(advice: Advice) -> str:
    """Return the verdict, and what to do next if nothing is decided."""
    best = advice.switch
    told = f"{effect(best.saves)} {place(advice)}"
    if advice.verdict == Kind.SAVES:
        return f"Switch on {best.words}. It {told}.{losers(advice)}{_near(advice)}"
    if advice.verdict == Kind.NOTHING:
        return (
            f"Change nothing: {_nowhere(advice)}{_best(advice)} {told}.{_near(advice)}"
        )
    if advice.conflict is not None:
        return (
            f"Inconclusive: the figures cannot go together. {advice.conflict.words}. "
            "Next: measure as docs/tune.md says, and state "
            f"{advice.conflict.instead}."
        )
    told = f"{_best(advice)} {told}."
    told = told[0].upper() + told[1:]
    if advice.verdict == Kind.DEPENDS:
        names = " and ".join(line.name for line in _deciding(advice))
        why = f"Not decided: it depends on the {names}."
        return f"{why} {told}{losers(advice)} {_next(advice)}"
    why = "Inconclusive."
    if not advice.node_rate_given:
        why = "Inconclusive: nobody stated the rate of a node."
    elif where := _touching(advice):
        why = (
            f"Inconclusive: the interval holds {WORTH_WORDS} at {' and '.join(where)}."
        )
    elif _touches(advice):
        why = f"Inconclusive: the interval holds {WORTH_WORDS}."
    return f"{why} {told} {_next(advice)}"


def _touches(advice: Advice) -> bool:
    """Return whether the interval of the saving has values on both sides of what is
    worth a change.
    """
    low, high = advice.switch.saves.low, advice.switch.saves.high
    return low is not None and high is not None and low <= WORTH <= high


def _best(advice: Advice) -> str:
    """Return the words that name the best setting."""
    saved = advice.switch.saves
    if (saved.value or 0.0) < 0 and (saved.high is None or saved.high < 0):
        return f"no setting saves; the least harmful, {advice.setting},"
    return f"the best setting, {advice.setting},"


def _near(advice: Advice) -> str:
    """Return the sentence that says to which limits the verdict is near, with a space
    in front; empty if it is near none.
    """
    near = []
    if 1 - advice.waiting < (1 + NEAR) * (1 - MOST_WAITING):
        near.append(
            f"{100 * advice.waiting:.0f} % of the I/O time is waiting (no verdict "
            f"above {MOST_WAITING_WORDS})"
        )
    ends = (advice.switch.saves.low, advice.switch.saves.high)
    end = ends[0] if advice.verdict == Kind.SAVES else ends[1]
    if end is not None and abs(end - WORTH) < NEAR * WORTH:
        near.append(
            f"the interval ends at {_hundredths(end)} % (a change is worth it from "
            f"{WORTH_WORDS} on)"
        )
    if not near:
        return ""
    return f" Near a limit: {'; '.join(near)}."


def _unknown(advice: Advice) -> list[_Line]:
    """Return the axes whose figure is a guess."""
    return [line for line in _lines(advice) if not line.axis.known]


def _deciding(advice: Advice) -> list[_Line]:
    """Return the axes on which a change pays at some of the values tried only."""
    return [
        line
        for line in _unknown(advice)
        if line.axis.decides and line.axis.pays_from.value is not None
    ]


def _touching(advice: Advice) -> list[str]:
    """Return the values of unknown figures at which nothing can be concluded while
    there is a conclusion at others, in words.
    """
    words = {"I/O fraction": "{} I/O", "storage rate": "a storage of {}"}
    found = []
    for line in _unknown(advice):
        form = words.get(line.name, "an " + line.name + " of {}")
        for point in line.axis.points if line.axis.decides else ():
            kind = verdict_kind(point.setting, point.waiting)
            if point.trusted and kind == Kind.UNCERTAIN:
                found.append(form.format(line.text(point.value)))
    return found


def _next(advice: Advice) -> str:
    """Return the sentence that says what to do next if nothing is decided."""
    if advice.is_one_draw:
        return (
            "One draw tells nothing of how starts and assumed I/O change this; its "
            "interval is of weeks of the log only. Next: run with --draws 5"
        )
    if advice.node_rate_given and advice.verdict == Kind.UNCERTAIN:
        kept = _next_within_noise(advice)
        if kept:
            return kept
    options = _wanted_options(advice)
    if options:
        return f"Next: measure as docs/tune.md says, and state {' '.join(options)}"
    return "Next: give a log of more days, or more --draws."


def _next_within_noise(advice: Advice) -> str:
    """Return what to do next if the interval of the saving holds what is worth a
    change; empty if a figure that nobody stated decides.
    """
    if advice.waiting > MOST_WAITING:
        waiting = f"{100 * advice.waiting:.0f} % of the I/O time is waiting there"
        return f"{waiting}, so {_next_about_waiting(advice)}"
    if _touches(advice):
        return f"A change is worth it from {WORTH_WORDS} on. {_leave(advice)}"
    if _touching(advice):
        return (
            f"Next: leave all as it is; no setting saves {WORTH_WORDS} at any value "
            "tried."
        )
    return ""


def _next_about_waiting(advice: Advice) -> str:
    """Return why nothing is concluded if most of the I/O time is waiting, and what to
    do next that was not done.
    """
    if advice.fraction.source == BY_DARSHAN:
        return (
            "these rates do not fit the Darshan logs. Next: measure node_rate and "
            "storage_rate as docs/tune.md says."
        )
    logs = "Darshan logs (--darshan)"
    if advice.measured_jobs:
        logs = f"Darshan logs of more jobs ({advice.measured_jobs} of {advice.jobs})"
    return f"what the jobs really write decides. Next: give {logs}."


def _wanted_options(advice: Advice) -> list[str]:
    """Return the options with which to state the figures that could change what to
    do.
    """
    lines = _deciding(advice)
    if advice.verdict == Kind.UNCERTAIN and not _touches(advice):
        lines = [line for line in _unknown(advice) if line.axis is advice.storage]
    options = [line.option for line in lines]
    if not advice.node_rate_given:
        options.append("--machine node_rate=RATE")
    # All keys of the machine are in one option: node_rate, then storage_rate.
    rates = sorted(option for option in options if option.startswith(MACHINE))
    stated = [option for option in options if option not in rates]
    if rates:
        keys = ",".join(option.removeprefix(MACHINE) for option in rates)
        stated.insert(0, MACHINE + keys)
    return stated


MOST_LONGER = 12
"""A log longer by more than this factor is not asked for."""


def _leave(advice: Advice) -> str:
    """Return the sentence that says what to do while the interval of the saving holds
    what is worth a change: leave all as it is, and whether a longer log would decide.

    The width of an interval falls with the square root of the length of the log. If the
    saving is so near to what is worth a change that this decides nothing, and the
    interval is wide, the saving itself is not known well: a longer log may move it.
    """
    value, low, high = advice.switch.saves
    assert value is not None and low is not None and high is not None
    leave = "Next: leave all as it is"
    if value <= 0 or _hundredths(value) == "0.0":
        return f"{leave}: on average no setting saves anything."
    days = advice.span_seconds / DAY
    this = f"(this one: {days:.0f})"
    never = (
        f"{leave}: no log of less than {_tens(MOST_LONGER * days)} days {this} would"
    )
    margin = abs(value - WORTH)
    width = value - low if value > WORTH else high - value
    if width < math.sqrt(MOST_LONGER) * margin:
        wanted = days * max(1.1, (width / margin) ** 2)
        return (
            f"{leave} for now; a log of about {_tens(wanted)} days {this} would decide."
        )
    width = (high - low) / 2
    if width <= WORTH:
        near = f"{_hundredths(value)} % is too near to {WORTH_WORDS}"
        return f"{never} decide, as {near}."
    if width >= math.sqrt(MOST_LONGER) * WORTH:
        return f"{never} decide, as the interval is too wide."
    wanted = days * max(1.1, (width / WORTH) ** 2)
    return (
        f"{leave} for now; a log of about {_tens(wanted)} days {this} would narrow the "
        f"interval to {WORTH_WORDS} on each side."
    )


def _tens(days: float) -> int:
    """Return a number of days, rounded up to tens."""
    return 10 * math.ceil(days / 10)


def _nowhere(advice: Advice) -> str:
    """Return the words that say in which ranges of the unknown figures no setting pays;
    empty if all are known.
    """
    ranges = []
    for line in _unknown(advice):
        least, largest = line.axis.ends
        ranges.append(f"{line.name} {_span(line.text(least), line.text(largest))}")
    if not ranges:
        return ""
    return f"no setting pays at any value tried ({', '.join(ranges)}); "


def answer(advice: Advice) -> list[str]:
    """Return the answer as lines: the verdict, which says who loses, the figures on
    which it depends, and the lines to paste.
    """
    pasted = () if advice.pasted is None else advice.pasted.lines
    *axes, last = axis_lines(advice)
    return [
        sentence(advice),
        *axes,
        f"{last} {machine_line(advice)} {assumption(advice)}",
        *(PASTE + line for line in pasted),
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
            whole = _UNIT.sub("\N{NO-BREAK SPACE}", line)
            for part in textwrap.wrap(whole, width, break_on_hyphens=False):
                lines.append(part.replace("\N{NO-BREAK SPACE}", " "))
    return lines


def compare_line(advice: Advice, instance: str) -> str:
    """Return the command that compares the best setting with sharing on the jobs in the
    file *instance*; empty if no policy stands for that setting.
    """
    solver = advice.switch.solver
    if not solver:
        return ""
    words = ["ioopt", "compare", instance, "--solver", advice.baseline]
    return shlex.join([*words, "--solver", solver])


def cost_line(advice: Advice) -> str:
    """Return the line about the largest possible saving."""
    ideal = percent(advice.policy_saves, "run time")
    who = f"the policy {advice.policy}"
    if advice.policy_suspends:
        how = f"stops and resumes transfers, as {advice.policy} needs,"
        who = f"a file system that {how}"
    return (
        f"Congestion costs {percent(advice.cost, 'run time')} {place(advice)}; {who} "
        f"would save {ideal}."
    )


def load_line(advice: Advice) -> str:
    """Return the line about the log and the load of the machine."""
    above = advice.node_hours_above_machine
    hours = advice.node_utilisation * advice.nodes * advice.span_seconds / 3600
    return (
        f"{advice.jobs} jobs in {quantity('span_seconds', advice.span_seconds)} on "
        f"{advice.nodes} nodes use {100 * advice.node_utilisation:.0f} % of the nodes; "
        "each starts when the log says, so waits are not predicted. "
        f"{100 * above / hours:.2g} % of the node-hours ({above:.0f} of {hours:.0f}) "
        "are on more nodes than there are, because jobs run longer than in the log: "
        "on the machine these jobs would wait."
    )
