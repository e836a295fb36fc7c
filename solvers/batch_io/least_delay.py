"""LEAST-DELAY (ours, rule 51): FILL for the total I/O delay: least R_i N_i^(1/2) first, bandwidth filled.

All jobs' delays count alike. Of two requests that do not fit together the one with fewer bytes left goes
first (whoever runs costs the other (r_1 + r_2 - BW) R / (r_1 r_2) s), and of many, narrow ones leave room for
more to run at once: the exponent lies between SRPT by bytes (0) and both alike (1). It was chosen on seeds
1 to 3 of ``mira-week`` and 1 and 2 of ``small``; docs/batch-io.md reports others.
"""

from ioopt.decisions.batch_io import IoPolicy
from ioopt.solvers.batch_io.estimates import EstimateSettings
from ioopt.solvers.batch_io.fill import made

ALPHA = -0.5


def policy(how: EstimateSettings) -> IoPolicy:
    """FILL with an alpha below 0."""
    return made("least-delay", ALPHA, how)
