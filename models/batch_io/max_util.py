"""Formulate Cons-MaxUtil as a 0-1 knapsack (Zhou et al., Section III.C.2).

The integer program is ours. Requests i of 1..K have weight w_i (bandwidth b N_i in
allocation units) and value p_i (nodes N_i); c is BW_max in the same units. Variables:
x_i 0/1, whether request i transfers.

(1) maximise sum_i p_i x_i;  (2) sum_i w_i x_i <= c
"""

from collections.abc import Mapping, Sequence

from ioopt.models.program import Number, Program


class MaxUtilModel:
    """Build the knapsack; :attr:`program` is maximised, its variables are ``x_<i>``."""

    def __init__(
        self, weights: Sequence[int], values: Sequence[int], capacity: int
    ) -> None:
        self.program = Program("max_util", maximise=True)
        self.x = [self.program.binary(f"x_{i}") for i in range(len(weights))]
        # (1) Maximise the nodes whose jobs transfer.
        self.program.objective = dict(zip(self.x, values, strict=True))
        # (2) Limit the aggregate bandwidth to the storage's rate.
        self.program.add(
            "bandwidth", list(zip(self.x, weights, strict=True)), most=capacity
        )

    def chosen(self, values: Mapping[int, Number]) -> tuple[int, ...]:
        """Return the requests that transfer in a solution."""
        return tuple(i for i, at in enumerate(self.x) if values[at] > 0.5)
