"""Cons-MaxUtil as a 0-1 knapsack (Zhou et al., Section III.C.2), for PuLP and for CP-SAT.

The paper's choice at a decision with K requests: maximise the nodes of the jobs that transfer,
subject to their aggregate bandwidth staying within BW_max.

Sets and parameters: requests i in 1..K; weight w_i (their bandwidth b N_i, here in whole allocation
units); value p_i (their nodes N_i); capacity c (BW_max in the same units).
Variables: x_i in {0, 1}, whether request i transfers.

(1) maximise sum_i p_i x_i
(2) sum_i w_i x_i <= c

The paper solves it by dynamic programming; stating it as an integer program is ours, and serves to
cross-check the dynamic programs. Values need not be proportional to weights here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class MaxUtilPulp:
    """The knapsack as a PuLP model, ``lp``, with variables named ``x_<i>``."""

    def __init__(self, weights: Sequence[int], values: Sequence[int], capacity: int) -> None:
        import pulp

        self.lp = pulp.LpProblem("max_util", pulp.LpMaximize)
        self.x = [pulp.LpVariable(f"x_{i}", cat=pulp.LpBinary) for i in range(len(weights))]
        self._objective(values)
        self._bandwidth(weights, capacity)

    def _objective(self, values: Sequence[int]) -> None:
        """(1) The nodes whose jobs transfer."""
        import pulp

        self.lp += pulp.lpSum(p * x for p, x in zip(values, self.x)), "nodes"

    def _bandwidth(self, weights: Sequence[int], capacity: int) -> None:
        """(2) Aggregate bandwidth within the storage's."""
        import pulp

        self.lp += pulp.lpSum(w * x for w, x in zip(weights, self.x)) <= capacity, "bandwidth"

    def chosen(self, values: Mapping[str, float]) -> tuple[int, ...]:
        """Positions that transfer, from the values of the variables by name."""
        return tuple(i for i in range(len(self.x)) if values.get(f"x_{i}", 0.0) > 0.5)


class MaxUtilCpSat:
    """The knapsack as a CP-SAT model, ``model``."""

    def __init__(self, weights: Sequence[int], values: Sequence[int], capacity: int) -> None:
        from ortools.sat.python import cp_model

        self.model: Any = cp_model.CpModel()
        self.x = [self.model.new_bool_var(f"x_{i}") for i in range(len(weights))]
        self._weighted_sum = cp_model.LinearExpr.weighted_sum
        self._objective(values)
        self._bandwidth(weights, capacity)

    def _objective(self, values: Sequence[int]) -> None:
        """(1) The nodes whose jobs transfer."""
        self.model.maximize(self._weighted_sum(self.x, list(values)))

    def _bandwidth(self, weights: Sequence[int], capacity: int) -> None:
        """(2) Aggregate bandwidth within the storage's."""
        self.model.add(self._weighted_sum(self.x, list(weights)) <= capacity)

    def chosen(self, values: Mapping[int, float]) -> tuple[int, ...]:
        """Positions that transfer, from the values of the variables by index."""
        return tuple(i for i, x in enumerate(self.x) if values.get(x.index, 0.0) > 0.5)
