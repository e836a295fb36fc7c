"""Describe plans in sentences, and define which resources an explanation varies.

There is one module for each family: ``told`` returns the sentences, ``KNOBS`` has the
resources. A knob changes the plain data of an instance, and returns False when the
instance does not have the resource. :mod:`ioopt.explaining` uses both.
"""

from collections.abc import Callable

from ioopt.problems.base import Json

MORE = 1.1
"""The factor on each resource in an explanation: 10 % more."""


def scaled(part: str, key: str) -> Callable[[Json], bool]:
    """Return a knob that increases *key* of the object *part*, or of every object in
    the list *part* that has it.
    """

    def turn(data: Json) -> bool:
        found = data.get(part) or []
        rows = found if isinstance(found, list) else [found]
        having = [row for row in rows if row.get(key)]
        for row in having:
            number_type = type(row[key])
            row[key] = number_type(row[key] * MORE)
        return bool(having)

    return turn
