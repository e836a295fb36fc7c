"""Independent checkers: each imports only the problem and recomputes what a plan claims.

``ioopt.check(problem, result)`` is the public call: `ioopt` makes this package callable.

>>> import ioopt
>>> ioopt.check("cycle3", ioopt.solve("cycle3", "minmin"))
[]
"""
