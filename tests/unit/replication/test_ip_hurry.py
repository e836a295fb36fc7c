"""Under a limit of a second ``ip`` searches before it loads a solver."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

import ioopt
from ioopt.options import Deadline, SolveOptions
from ioopt.protocols import Incumbents, SolveRequest
from ioopt.solvers.replication.exact import ip


@pytest.mark.parametrize(
    ("left", "loaded", "first"),
    [(1.0, False, "anneal"), (1.0, True, "partition_bound"), (30.0, False, "partition_bound")],
)
def test_a_short_limit_anneals_before_it_loads_cp_sat(
    left: float, loaded: bool, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Exception):
        pass

    def stop(name: str) -> Any:
        def called(*_: Any) -> None:
            raise Stop(name)

        return called

    for name in ("anneal", "partition_bound"):
        monkeypatch.setattr(ip.Search, name, stop(name))
    if loaded:
        monkeypatch.setitem(sys.modules, "ortools", ModuleType("ortools"))
    else:
        monkeypatch.delitem(sys.modules, "ortools", raising=False)
    problem = ioopt.load("image-16x3")
    options = SolveOptions(time_limit_seconds=left)
    deadline = Deadline(left, clock=lambda: 0.0)
    request = SolveRequest(options, deadline, ip.Settings(), None, Incumbents(deadline))
    with pytest.raises(Stop, match=first):
        ip.solve(problem, request)
