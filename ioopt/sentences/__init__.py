"""Describe plans in sentences, and define the resources that an explanation varies.

There is one module for each family: its function ``told`` returns the sentences, and
its table ``KNOBS`` has the resources. A knob is a function that increases one resource
in the plain data of an instance; it returns False when the instance does not have the
resource. :mod:`ioopt.explaining` uses both.
"""

from collections.abc import Callable

from ioopt.problems.base import Json

MORE = 1.1
"""The factor by which an explanation increases a resource: 10 % more."""


def scaled(part: str, key: str) -> Callable[[Json], bool]:
    """Return a knob that increases the number *key* by 10 %, in the object *part* of an
    instance or in every object of the list *part*.
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
