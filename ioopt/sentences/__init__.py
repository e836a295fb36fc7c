"""What a family says of a plan in sentences, and of which resources more may be tried.

One module a family: ``told`` gives the sentences, ``KNOBS`` the resources. A knob
changes the plain data of an instance, and gives False where it has nothing of the
resource. :mod:`ioopt.explaining` asks for both.
"""

from collections.abc import Callable

from ioopt.problems.base import Json

MORE = 1.1
"""How much of each resource is tried: a tenth more."""


def scaled(part: str, key: str) -> Callable[[Json], bool]:
    """Return the knob for *key* of the object *part*, or of every object in the list
    *part* that has it.
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
