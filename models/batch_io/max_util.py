"""Formulate Cons-MaxUtil as a 0-1 knapsack (Zhou et al., Section III.C.2).

The integer program is ours. Request i needs the bandwidth w_i (the paper's b N_i, in
allocation units) and has the value p_i (N_i, the number of its job's nodes). c is the
storage's rate BW_max in allocation units. The variable x_i is 1 if request i transfers,
else 0.

(1) maximise sum over i of p_i x_i, the nodes whose jobs transfer
(2) sum over i of w_i x_i <= c, the storage's rate
"""

from collections.abc import Mapping, Sequence

from ioopt.models.program import Number, Program


class MaxUtilModel:
    """Build the knapsack.

    :attr:`program` is to be maximised; ``x[i]`` is the position of the variable of
    request i.
    """

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
        """Return the numbers of the requests that transfer in a solution."""
        return tuple(i for i, at in enumerate(self.x) if values[at] > 0.5)
