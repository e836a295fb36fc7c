"""Say a validation in rows of a few words each, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ioopt.tables import render
from ioopt.units import counted, quantity
from ioopt.validation.answer import (
    GAIN_WITHIN,
    SURE_FROM,
    TASKS_SURE_BELOW,
    NodeDisks,
    Planned,
    Replayed,
    ValidatedTask,
    Validation,
)
from ioopt.validation.storage import SHARED, Storage

Row = tuple[str, str]
"""A question in a few words, and its answer."""
WORST = 3
"""The number of tasks that are named: those whose replayed times differ most."""
NO_REPLAY = "no: the record does not say on which host each task ran"
UNCERTAIN = (
    f"below {100 * SURE_FROM:g} % of difference, ioopt cannot tell which is faster"
)
TOO_FAR_OFF = "the replay is too far off to tell which is faster"
TASKS_TOO_FAR_OFF = (
    f"half of the tasks are {100 * TASKS_SURE_BELOW:g} % off or more: too far to tell "
    "which is faster"
)
ALIKE = 0.05
"""Difference of the errors of two kinds of storage below which both fit alike."""
NAMES: dict[Storage, str] = {"nfs": "NFS", "ceph": "Ceph", "node": "node disks"}
STORAGE: dict[Storage, str] = {
    "nfs": "shared; nodes read again what they wrote (NFS)",
    "ceph": "shared; nodes keep what they wrote in memory (Ceph)",
    "node": "the disks of the nodes, and copies between them",
}
"""What is said of each kind of storage."""


def as_text(found: Validation, width: int) -> str:
    """Return the answer *found* as a table of at most *width* columns."""
    return render(("", "answer"), list(rows(found)), width=width, wrap=1)


def rows(found: Validation) -> Iterator[Row]:
    """Yield each question with its answer."""
    makespan = time(found.recorded.makespan_seconds)
    yield "recorded", f"{makespan} for {counted(len(found.tasks), 'task')}"
    yield "storage", _storage(found)
    yield _constants(found)
    if found.replayed is None:
        yield "replayed", NO_REPLAY
    else:
        yield "replayed", _replayed(found.replayed)
        yield from _tasks(found.tasks)
    if found.plan is not None:
        yield "plan", _planned(found, found.plan)
    if found.node_disks is not None:
        yield "node disks", _node_disks(found, found.node_disks)


def time(seconds: float) -> str:
    """Return a time with three digits, in a suitable unit.

    >>> time(87.898), time(2270.0), time(1e9)
    ('87.9 s', '37.8 min', '11574 d')
    """
    return rounded("makespan_seconds", seconds)


def rounded(name: str, value: float | None) -> str:
    """Return a value of the metric *name* with three digits and its unit."""
    if value is None:
        return "unlimited"
    number, space, unit = quantity(name, value).partition(" ")
    size = float(number)
    if abs(size) < 100:
        number = f"{size:.3g}"
    else:
        number = f"{size:.0f}"
    return number + space + unit


def _storage(found: Validation) -> str:
    """Return what is known of the storage: the kind that was stated, or how well each
    kind of shared storage fits.
    """
    errors = found.storage_errors
    if len(errors) == 1:
        return STORAGE[found.storage]
    if not errors:
        return f"{STORAGE[found.storage]}; not recorded (--storage says another)"
    told = f"if you know it, give --storage {' or '.join(SHARED)}"
    own, *others = sorted(errors, key=lambda kind: kind != found.storage)
    apart = min(abs(abs(errors[kind]) - abs(errors[own])) for kind in others)
    if apart < ALIKE:
        both = (f"{NAMES[kind]} ({off(errors[kind])})" for kind in (own, *others))
        return f"shared; fits like {' and like '.join(both)}; {told}"
    rest = ", ".join(f"{NAMES[kind]}: {off(errors[kind])}" for kind in others)
    return f"shared; fits like {NAMES[own]} ({rest}); {told}"


def _constants(found: Validation) -> Row:
    """Return the row on the constants, which are fitted or those of other runs."""
    values = []
    for name in found.fitted:
        values.append(f"{constant(name)} {fitted_value(found, name)}")
    told = ", ".join(values)
    if not found.fitted_on:
        return "assumed", f"{told}{_unsuited(found)}"
    tasks = counted(len(found.tasks), "task")
    return "fitted", f"{told} (on {found.fitted_on} of {tasks})"


def _unsuited(found: Validation) -> str:
    """Return the words that constants of other runs do not suit a record without hosts:
    an engine that starts tasks first come, first served would end at another time.
    """
    if found.node_disks is None:
        return ""
    shared = found.node_disks.shared_makespan_seconds
    error = shared / found.recorded.makespan_seconds - 1
    if abs(error) < SURE_FROM:
        return ""
    way = "late" if error > 0 else "early"
    return (
        f"; with these the run would end {100 * abs(error):.0f} % too {way}: say the "
        "rates (--machine remote_rate=, replica_rate=)"
    )


def fitted_value(found: Validation, name: str) -> str:
    """Return the value of the constant *name*, unless the record does not say it."""
    if name in found.undetermined:
        return "not determined by this record"
    return rounded(name, found.fitted[name])


def constant(name: str) -> str:
    """Return the name of a constant in words, without its unit.

    >>> constant("overhead_seconds"), constant("remote_bytes_per_second")
    ('overhead', 'remote rate')
    """
    name = name.replace("_bytes_per_second", "_rate")
    return name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ")


def _replayed(found: Replayed) -> str:
    """Return the makespan of the replay, its error, and its band."""
    least, _, most = found.band
    between = f"{time(least)} to {time(most)}"
    if time(least) == time(most):
        between = "the same"
        if time(least) != time(found.makespan_seconds):
            between = time(least)
    return (
        f"{time(found.makespan_seconds)}, {off(found.error)}; {between} if links are "
        "shared unequally"
    )


def off(error: float) -> str:
    """Return a relative error in words.

    >>> off(-0.052), off(0.01), off(0.0004)
    ('5.2 % too short', '1.0 % too long', 'as recorded')
    """
    size = f"{100 * abs(error):.1f}"
    if size == "0.0":
        return "as recorded"
    direction = "long" if error > 0 else "short"
    return f"{size} % too {direction}"


def _tasks(tasks: Sequence[ValidatedTask]) -> Iterator[Row]:
    """Yield how far off the times of tasks are, and the tasks that are farthest off."""
    errors = [abs(task.off) for task in tasks]
    yield "tasks", f"half of them within {time(median(errors))} of the record"
    for number, task in enumerate(worst(tasks, WORST)):
        replayed = rounded("seconds", task.replayed_seconds)
        recorded = time(task.recorded_seconds)
        text = f"{short(task.id)}: {recorded}, replayed in {replayed}"
        yield "" if number else "farthest off", text


def short(task: str) -> str:
    """Return the name of a task without those of the workflows that it belongs to.

    >>> short("RNASEQ:QUANTIFY:SALMON_QUANT (a:b)")
    'SALMON_QUANT (a:b)'
    """
    process, space, tag = task.partition(" ")
    return process.rpartition(":")[2] + space + tag


def worst(tasks: Sequence[ValidatedTask], most: int) -> list[ValidatedTask]:
    """Return the *most* tasks whose replayed times differ most from the recorded ones,
    the largest difference first.
    """
    return sorted(tasks, key=lambda task: (-abs(task.off), task.id))[:most]


def _planned(found: Validation, plan: Planned) -> str:
    """Return what a plan would save, and whether that can be told."""
    before = "first come, first served"
    if found.replayed:
        before = "replayed"
    told = f"{time(plan.makespan_seconds)} by {plan.solver}, {change(-plan.saves)}"
    far = found.replayed is not None and found.replayed.task_error >= TASKS_SURE_BELOW
    doubt = f"; {TASKS_TOO_FAR_OFF}" if far else _doubt(found, plan.certain)
    return f"{told} {before}{doubt}"


def _doubt(found: Validation, certain: bool) -> str:
    """Return what is added to an answer if it does not tell which run is faster."""
    if found.replayed and abs(found.replayed.error) >= SURE_FROM:
        return f"; {TOO_FAR_OFF}"
    return "" if certain else f"; {UNCERTAIN}"


def change(share: float) -> str:
    """Return in words how much longer a plan takes.

    >>> change(-0.26), change(0.11), change(0.004)
    ('26 % less than', '11 % more than', 'as long as')
    """
    size = f"{100 * abs(share):.0f}"
    if size == "0":
        return "as long as"
    direction = "more" if share > 0 else "less"
    return f"{size} % {direction} than"


def _node_disks(found: Validation, disks: NodeDisks) -> str:
    """Return what products on the disks of nodes would give, and the room they take."""
    least, most = (disks.gain / (1 + way * GAIN_WITHIN) for way in (1, -1))
    within = f"{100 * GAIN_WITHIN:g} %"
    told = (
        f"through shared storage {time(disks.shared_makespan_seconds)}; node disks "
        f"and copies {time(disks.makespan_seconds)}, {disks.gain:.2g} times as fast "
        f"({least:.2g} to {most:.2g} if off by up to {within}, as 13 of 14 "
        f"recorded runs); they take {rounded('bytes', disks.bytes_per_node)} a node"
    )
    certain = not 1 - SURE_FROM < disks.gain < 1 / (1 - SURE_FROM)
    return told + _doubt(found, certain)
