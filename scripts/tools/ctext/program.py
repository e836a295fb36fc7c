"""What a program of kernel text is made of: its functions, and how C names them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ctext.source import Library, Module, prefix_of
from ctext.types import BOOL, C_NUMBERS, FLOAT, INT, NARROW, NOTHING, Type

_WORDS = """
auto case char const default do double enum extern float goto inline int long register
restrict short signed sizeof static struct switch typedef union unsigned void volatile
exp gamma j0 j1 jn log y0 y1 yn
"""
WORDS_OF_C = frozenset(_WORDS.split())
"""Names that mean something else in C: they get an underscore."""


@dataclass(frozen=True)
class Function:
    """A function of the text that is translated, with its types."""

    module: Module
    node: ast.FunctionDef
    name: str
    parameters: dict[str, Type]
    result: Type

    @property
    def c_result(self) -> str:
        """Return the C type of the result."""
        return c_result(self.result)

    @property
    def head(self) -> str:
        """Return the C declaration without what comes before the result's type."""
        words = ", ".join(
            f"{c_type(kind)} {c_name(name)}" for name, kind in self.parameters.items()
        )
        return f"{self.c_result} {self.name}({words or 'void'})"


REPLACED = "in_c"
"""The decorator of a function in whose place C takes the function that it names."""


@dataclass
class Program:
    """What is translated: functions in the order in which they were needed, and the
    constants, tuples and types of functions that they use.
    """

    library: Library
    functions: dict[tuple[str, str], Function] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    tuples: dict[str, Type] = field(default_factory=dict)
    pointers: dict[str, Type] = field(default_factory=dict)

    def function(self, module: Module, name: str) -> Function:
        """Return function *name* of *module*, which will be translated too.

        It is the function that replaces it in C, if there is one.
        """
        module, name = self._replaced(module, name)
        key = (module.name, name)
        if key not in self.functions:
            node = module.functions[name]
            arguments = node.args
            unusual = arguments.vararg or arguments.kwarg or arguments.kwonlyargs
            if unusual or arguments.posonlyargs:
                raise module.place(node).error(
                    f"{name} has parameters that are not plain; name each one"
                )
            parameters = {
                argument.arg: self._annotated(module, node, argument.annotation)
                for argument in arguments.args
            }
            self.functions[key] = Function(
                module,
                node,
                f"{prefix_of(module)}_{name}",
                parameters,
                self._annotated(module, node, node.returns),
            )
        return self.functions[key]

    def _replaced(self, module: Module, name: str) -> tuple[Module, str]:
        """Return the function that C takes in place of *name* of *module*."""
        for mark in module.functions[name].decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == REPLACED:
                (text,) = mark.args
                found = self.library.find(module, ast.unparse(text))
                if found is None or found[1] not in found[0].functions:
                    raise module.place(mark).error(
                        f"{ast.unparse(text)} is no function of the text"
                    )
                return found
        return module, name

    def _annotated(
        self, module: Module, function: ast.FunctionDef, annotation: ast.expr | None
    ) -> Type:
        """Return the type of a parameter or result of *function*."""
        if annotation is None:
            raise module.place(function).error(
                f"{function.name} lacks an annotation; give every parameter and the "
                "result one"
            )
        found = self.library.type_of(module, annotation)
        if found.name == "tuple":
            self.tuples[c_type(found)] = found
        if found.is_function:
            self.pointers[c_type(found)] = found
        return found


def c_result(kind: Type) -> str:
    """Return the C type of a result of *kind*."""
    return "void" if kind == NOTHING else c_type(kind)


def c_name(name: str) -> str:
    """Return how *name* is written in C."""
    return f"{name}_" if name in WORDS_OF_C else name


def c_type(kind: Type) -> str:
    """Return the C type of a variable of *kind*."""
    if kind in (INT, BOOL, *NARROW):
        return "int64_t"
    if kind == FLOAT:
        return "double"
    if kind.is_list:
        return f"list_{C_NUMBERS.get(kind.item) or kind.item.name}"
    if kind.name == "tuple":
        return "tuple_" + "_".join(item.name for item in kind.items)
    if kind.is_function:
        return "function_" + "_".join(map(_word, kind.items))
    return f"{kind.name} *"


def _word(kind: Type) -> str:
    """Return a word for *kind* that can be part of a name in C."""
    if kind.is_list:
        return f"list_{kind.item.name}"
    return kind.name
