"""Independent checkers: each imports only the problem and recomputes what a plan claims.

``ioopt.check(problem, result)`` is the public call: `ioopt` makes this package callable.
"""
