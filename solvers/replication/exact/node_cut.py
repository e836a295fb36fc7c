"""The node-cut bound (:func:`ioopt.models.replication.bounds.node_cut_model`) in the search of ``ip``."""

import math
from dataclasses import replace

from ioopt.models.replication import bounds
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.replication.exact.ip_search import PROOF, Search


def node_cut(search: Search, seconds: float) -> None:
    """Raise the bound by what shared files cost the cheapest node in plans better than the best."""
    if search.over() or search.instance.num_nodes == 1 or search.moves is None:
        return
    model = bounds.node_cut_model(search.instance, search.load - 1, search.replication)
    limits = replace(BackendLimits.of(search.request, seconds), gap=None)
    answer = solve_by_cpsat(model.program, limits, parameters=PROOF)
    if answer.status is Status.INFEASIBLE:
        search.raise_bound(search.load, of_all_plans=True)
    elif answer.bound is not None:
        units = min(float(search.load), model.batch_time(answer.bound))
        search.raise_bound(units, of_all_plans=True)
        search.ends = (model.price, math.ceil(answer.bound - 1e-6))
