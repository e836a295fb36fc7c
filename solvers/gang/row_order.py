"""Which rows run first (ours): all rows are alike to the matrix's value, but not to the jobs.

A job waits for its rows to come round. After an update the rows are renumbered so that the row
of the most urgent jobs runs now, the next after it; attained service ages the weights, so that no
row stays behind for ever.
"""

import math

from ioopt.decisions.gang.rules import Number
from ioopt.decisions.gang.state import State
from ioopt.decisions.gang.weights import Weight, weights
from ioopt.problems.gang import mask_of, nodes_of


def urgent_rows_first(state: State, kind: Weight) -> State:
    """Renumber the rows: weight x speed / rows of the jobs in a row, summed, descending.

    The first is the row that runs at this instant (rule 1); ties to the lowest old index. Dividing
    by the rows that a job has favours those that depend on the one.
    """
    levels = len(state.rows)
    urgency: list[Number] = [0] * levels
    heavy = weights(kind, state.jobs, state.clock)
    for weight, job, columns, span in zip(heavy, state.jobs, state.columns, state.spans):
        speed = 1 if columns == job.files else job.local / job.remote
        share = weight * speed / span.bit_count()
        for row in nodes_of(span):
            urgency[row] += share
    current = math.floor(state.clock.now / state.clock.quantum) % levels
    order = sorted(range(levels), key=lambda row: -urgency[row])
    new = [0] * levels
    for place, row in enumerate(order):
        new[row] = (current + place) % levels
    rows = [0] * levels
    for row, mask in enumerate(state.rows):
        rows[new[row]] = mask
    return state._replace(
        rows=rows,
        homes=[new[home] for home in state.homes],
        spans=[mask_of(new[row] for row in nodes_of(span)) for span in state.spans],
    )
