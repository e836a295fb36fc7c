"""Schedules that are held as columns are written as their dictionaries are."""

import pytest

from ioopt import solving
from ioopt.problems import base


@pytest.mark.parametrize(
    ("instance", "solver", "settings"),
    [("two-writers", "base-line", {}), ("gang-mixed-60", "gs", {"history": "yes"})],
)
@pytest.mark.parametrize("at_once", [1, 2, 10_000])
@pytest.mark.parametrize("without", [None, {"plan", "options"}, {"schedule"}])
@pytest.mark.parametrize("indent", [None, 1])
def test_columns_are_written_as_dictionaries_are(
    instance: str,
    solver: str,
    settings: dict[str, str],
    at_once: int,
    without: set[str] | None,
    indent: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "ROWS_AT_ONCE", at_once)
    packed = solving.solve(instance, solver, settings=settings)
    packed = packed.model_copy(update={"meta": {"jobs": []}})
    assert packed.schedule is not None
    assert isinstance(packed.schedule["jobs"], base.Rows)
    plain = packed.unpacked()
    assert packed.to_json(without, indent) == plain.to_json(without, indent)
