"""Types of kernel text, and how C stores them.

A number is ``int``, ``float`` or ``bool``. Fields of records may also be ``Int32`` or
``Int8``: numbers that Python keeps as ``int`` and C in 4 bytes or 1 byte. A *record* is
a class whose fields are all numbers; C stores a list of records as an array of structs.
A *table* is a class that also has lists, records or tables as fields; C stores their
addresses. A *function* is a parameter that the text calls; C gets its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    """A type: a number, a class, a list of *items*, a tuple of *items*, a function, or
    nothing. The *items* of a function are the types of its parameters and its result.
    """

    name: str
    items: tuple[Type, ...] = ()

    @property
    def is_number(self) -> bool:
        """Return whether values of this type are numbers."""
        return self in NUMBERS

    @property
    def is_list(self) -> bool:
        """Return whether values of this type are lists."""
        return self.name == "list"

    @property
    def is_function(self) -> bool:
        """Return whether values of this type can be called."""
        return self.name == "function"

    @property
    def item(self) -> Type:
        """Return the type of the items of a list."""
        return self.items[0]

    @property
    def value(self) -> Type:
        """Return the type that a number has once it is read: narrow ones are ints."""
        return INT if self in NARROW else self

    def __str__(self) -> str:
        if not self.items:
            return self.name
        return f"{self.name}[{', '.join(map(str, self.items))}]"


INT = Type("int")
FLOAT = Type("float")
BOOL = Type("bool")
INT32 = Type("Int32")
INT8 = Type("Int8")
NOTHING = Type("None")

NARROW = (INT32, INT8)
NUMBERS = (INT, FLOAT, BOOL, *NARROW)

C_NUMBERS: Mapping[Type, str] = {
    INT: "int64_t",
    FLOAT: "double",
    BOOL: "uint8_t",
    INT32: "int32_t",
    INT8: "int8_t",
}
"""Number -> the C type in which records and lists store it."""


def list_of(item: Type) -> Type:
    """Return the type of a list of *item*."""
    return Type("list", (item,))


@dataclass
class Class:
    """A record or a table: its name in C, and the types of its fields."""

    name: str
    fields: dict[str, Type] = field(default_factory=dict)

    @property
    def is_record(self) -> bool:
        """Return whether all fields are numbers."""
        return all(kind.is_number for kind in self.fields.values())
