"""Provide the names that plugins import: base classes of kinds, and the class of solver
rows.
"""

from ioopt.families import ANYTIME as ANYTIME
from ioopt.families import BOUND as BOUND
from ioopt.families import EXACT as EXACT
from ioopt.families import ONLINE as ONLINE
from ioopt.families import REFERENCE as REFERENCE
from ioopt.families import THREADS as THREADS
from ioopt.families import WARM_START as WARM_START
from ioopt.families import Format as Format
from ioopt.families import Kind as Kind
from ioopt.families import Loader as Loader
from ioopt.families import MadePolicy as MadePolicy
from ioopt.families import MeasuredKind as MeasuredKind
from ioopt.families import Metric as Metric
from ioopt.families import Sense as Sense
from ioopt.families import SolverSpec as SolverSpec
from ioopt.families import Turn as Turn
from ioopt.families import load_target as load_target
from ioopt.options import refuse_left_class


def __getattr__(name: str) -> object:
    """Raise an error for a missing name; for a class that was removed, the error says
    what replaces it.
    """
    refuse_left_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
