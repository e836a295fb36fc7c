"""Maintain the library of best known plans: submit a better plan, or check all plans.

``python scripts/tools/library.py submit FILE RESULT`` checks the plan of RESULT for the
entry FILE (an instance file or a name of ``ioopt instances best``) and replays it. If
its value is better than the best value known, the plan is written into the library.

``python scripts/tools/library.py verify [NAME...]`` replays every stored plan and
compares its value with the value in its entry.

Both commands take ``--library FOLDER``. The default is the folder that
:func:`ioopt.library.writable_folder` names; in a checkout this is
``instances/library``. Exit codes are those of ``ioopt check``.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ioopt import registry
from ioopt.checking import judge, replayed
from ioopt.cli.options import read_result
from ioopt.errors import ExitCode, InstanceError, IooptError, UsageError
from ioopt.families import REFERENCE
from ioopt.formats.native import dump_json, reading, write_text
from ioopt.library import Entry, Found, entries, entry_of, writable_folder
from ioopt.loading import plan_in, plan_of
from ioopt.problems.base import Problem
from ioopt.protocols import CheckReport
from ioopt.result import OPTIMAL_RELATIVE_GAP, Violation
from ioopt.solving import beyond, check_plan
from ioopt.verdict import checked_value, past_bound
from ioopt.version import __version__


def report_of(problem: Problem, plan: object) -> CheckReport:
    """Return the checker's report on *plan* and on its replay, with the metrics."""
    kind = registry.kind_of_problem(problem)
    plan = plan_of(kind, plan)
    if not kind.simulates:
        return check_plan(kind, problem, plan, None)
    return replayed(kind, problem, plan, None, CheckReport(()))


def submit(
    entry: Entry, result: Mapping[str, Any], name: str, folder: str | None = None
) -> tuple[Entry, list[Violation]]:
    """Check *result* for *entry*, and write the new entry; return the entry and the
    violations.

    *name* is the name of the result in messages. The value of the plan is computed by a
    replay, whatever the result states. If there are violations, nothing is written and
    the entry is returned unchanged. Raises UsageError for a plan that is not better,
    that answers another question, or that comes from a policy which breaks a rule of
    the machine.
    """
    problem = entry.problem(folder)
    plan = plan_in(result)
    _require_comparable(entry, problem, plan, name)
    found = judge(problem, result, name)[0]
    if found:
        return entry, found
    report = report_of(problem, plan)
    if report.violations:
        return entry, list(report.violations)
    value = checked_value(entry.measure, report)
    if value is None or not entry.betters(value):
        raise UsageError(
            f"{name}: {entry.name}: {entry.measure} {value!r} is not better than "
            f"{entry.best.best!r}"
        )
    past = past_bound(entry.sense, value, entry.best.bound)
    if past is not None:
        text = (
            f"{value!r} passes the proven bound {entry.best.bound!r}: one of them is "
            "wrong"
        )
        violation = Violation(rule="bound", item=entry.name, message=text, amount=past)
        return entry, [violation]
    changed = entry.model_copy(
        update={
            "plan": plan,
            "history": (*entry.history, _found(entry, result, value)),
        }
    )
    write(changed, folder)
    return changed, []


def _found(entry: Entry, result: Mapping[str, Any], value: float) -> Found:
    """Return the line in the history of *entry* for *result*, whose replay has the
    value *value*.
    """
    options = result.get("options") or {}
    versions = result.get("versions") or {}
    return Found(
        best=value,
        bound=entry.best.bound,
        solver=result.get("solver") or "by hand",
        seed=result.get("seed"),
        settings=options.get("settings") or {},
        time_limit_seconds=options.get("time_limit_seconds"),
        version=versions.get("ioopt", __version__),
        date=datetime.date.today().isoformat(),
    )


def _require_comparable(
    entry: Entry, problem: Problem, plan: object, name: str
) -> None:
    """Raise an ioopt error unless *plan* answers the question of *entry* and keeps its
    rules.
    """
    if not isinstance(plan, Mapping):
        raise InstanceError(f"{name}: holds no plan")
    kind = registry.KINDS[entry.kind]
    for key, value in beyond(kind, problem, plan_of(kind, plan, name), None).items():
        raise UsageError(
            f"{name}: {key}={value!r} changes the question that the library asks"
        )
    for spec in registry.solvers_for(entry.kind):
        if spec.name == plan.get("policy") and REFERENCE in spec.abilities:
            raise UsageError(
                f"{name}: {spec.name} breaks a rule of the machine; it is for "
                "comparison only"
            )


def write(entry: Entry, folder: str | None = None) -> Path:
    """Write *entry* to its file, completely or not at all; return the path.

    Raises UsageError if the path exists and is not a regular file.
    """
    place = writable_folder(folder)
    path = place / f"{entry.name}.json"
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(
            f"{path}: is not a regular file; entries are written to regular files only"
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place}: cannot be made: {error.strerror}") from None
    data = entry.model_dump(mode="json", exclude_none=True, exclude={"plan"})
    without_end = dump_json(data).removesuffix("\n}\n")
    plan = dump_json(entry.plan, None)
    write_text(path, f'{without_end},\n "plan": {plan}}}\n')
    return path


def difference(entry: Entry, folder: str | None = None) -> str | None:
    """Return what is wrong with the stored plan of *entry*; None if nothing is."""
    report = report_of(entry.problem(folder), entry.plan)
    if report.violations:
        return str(report.violations[0])
    value = checked_value(entry.measure, report)
    stated = entry.best.best
    if value is None or abs(value - stated) > OPTIMAL_RELATIVE_GAP * abs(stated):
        return f"its replay has value {value!r}, the entry states {stated!r}"
    if past_bound(entry.sense, value, entry.best.bound) is not None:
        return f"the value {value!r} contradicts the stated bound {entry.best.bound!r}"
    return None


def _submit(given: argparse.Namespace) -> ExitCode:
    """Carry out ``submit``: print the violations, or the new and the old value. Return
    the exit code.
    """
    entry = entry_of(given.file, given.library)
    data = read_result(given.result, registry.KINDS[entry.kind])
    with reading(given.result):
        changed, found = submit(entry, data, given.result, given.library)
    for violation in found:
        print(violation)
    if found:
        return ExitCode.VIOLATIONS
    print(
        f"{entry.name}: {entry.measure} {changed.best.best:.9g}, was "
        f"{entry.best.best:.9g}; written to {writable_folder(given.library)}"
    )
    return ExitCode.ANSWER


def _verify(given: argparse.Namespace) -> ExitCode:
    """Carry out ``verify``: print one line for each entry that is wrong. Return the
    exit code.
    """
    known = entries(given.library)
    for name in given.name:
        if name not in known:
            raise UsageError(f"the library has no {name!r}")
    code = ExitCode.ANSWER
    for name in given.name or known:
        try:
            wrong = difference(known[name], given.library)
        except UsageError as error:  # The entry needs a file that is not shipped.
            print(f"{name}: not checked: {error}", file=sys.stderr)
            continue
        if wrong is not None:
            print(f"{name}: {wrong}")
            code = ExitCode.VIOLATIONS
    return code


def main(words: list[str] | None = None) -> int:
    """Run the command given by *words* (None: the command line), and return its exit
    code.
    """
    parser = argparse.ArgumentParser(
        prog="library.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    submitting = commands.add_parser("submit", help="write a better plan")
    submitting.add_argument("file", metavar="FILE")
    submitting.add_argument("result", metavar="RESULT")
    submitting.set_defaults(run=_submit)
    verifying = commands.add_parser("verify", help="check the stored plans")
    verifying.add_argument("name", metavar="NAME", nargs="*")
    verifying.set_defaults(run=_verify)
    for command in (submitting, verifying):
        command.add_argument("--library", metavar="FOLDER")
    given = parser.parse_args(words)
    try:
        return int(given.run(given))
    except IooptError as error:
        print(f"library.py: {error}", file=sys.stderr)
        return int(error.exit_code)


if __name__ == "__main__":
    sys.exit(main())
