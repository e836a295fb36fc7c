"""Read the modules of a kernel text: their constants, classes, functions and imports.

Modules are read, not imported, so that a text can be translated where its packages are
not installed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ctext.types import BOOL, FLOAT, INT, INT8, INT32, NOTHING, Class, Type, list_of

Number = int | float


class TextError(Exception):
    """Something in a text that has no translation: ``file:line: what; what to do``."""


@dataclass(frozen=True)
class Place:
    """A node of a syntax tree in its file, for messages."""

    file: str
    line: int

    def error(self, message: str) -> TextError:
        """Return the error that says *message* of this place."""
        return TextError(f"{self.file}:{self.line}: {message}")


@dataclass
class Module:
    """A module: its syntax tree, and what its names stand for."""

    name: str
    path: Path
    tree: ast.Module
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    assigned: dict[str, ast.expr] = field(default_factory=dict)
    imported: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Local name -> (module, name in it), or (module, None) for the module itself."""

    def place(self, node: ast.AST) -> Place:
        """Return the place of *node*, a part of this module's tree."""
        return Place(str(self.path), getattr(node, "lineno", 0))


KNOWN_NAMES = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "Int32": INT32,
    "Int8": INT8,
    "Number": FLOAT,
    "RequestId": INT,
    "Ints": list_of(INT),
    "Floats": list_of(FLOAT),
}
"""Names in annotations that stand for types of numbers and lists in every module.

``Number`` is a float, or in plain Python also an exact fraction. ``RequestId`` is a
whole number, or in plain Python also a text.
"""
LISTS = ("list", "Sequence")
_ARITHMETIC: dict[type, Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
}
_NAMED = {("math", "inf"): float("inf"), ("math", "pi"): 3.141592653589793}


class Library:
    """All modules that a text uses, read when they are first needed.

    *root* is the folder from which names of modules count.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[str, Module] = {}
        self._classes: dict[tuple[str, str], Class] = {}

    def path_of(self, name: str) -> Path | None:
        """Return the file of module *name*; None for one outside the folder."""
        stem = self.root.joinpath(*name.split("."))
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path
        return None

    def module(self, name: str) -> Module:
        """Return module *name*. Raises TextError if it is not in the folder."""
        if name not in self._modules:
            path = self.path_of(name)
            if path is None:
                raise TextError(f"module {name} is not below {self.root}")
            self._modules[name] = _read(name, path)
        return self._modules[name]

    def find(self, module: Module, name: str) -> tuple[Module, str] | None:
        """Return the module that defines *name* of *module*, and the name in it.

        None for a name that is not known, or that comes from outside the folder.
        """
        seen = set()
        while (module.name, name) not in seen:
            seen.add((module.name, name))
            if any(
                name in names
                for names in (module.functions, module.classes, module.assigned)
            ):
                return module, name
            if name not in module.imported:
                return None
            source, original = module.imported[name]
            if original is None or self.path_of(source) is None:
                return None
            module, name = self.module(source), original
        return None

    def module_called(self, module: Module, name: str) -> Module | None:
        """Return the module for which *name* stands in *module*; None if it is none."""
        if name not in module.imported:
            return None
        source, original = module.imported[name]
        full = source if original is None else f"{source}.{original}"
        return None if self.path_of(full) is None else self.module(full)

    def constant(self, module: Module, node: ast.expr) -> Number | None:
        """Return the value of *node*, if it is made of constants only."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.constant(module, node.operand)
            return None if value is None else -value
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            left = self.constant(module, node.left)
            right = self.constant(module, node.right)
            if left is None or right is None:
                return None
            return _ARITHMETIC[type(node.op)](left, right)
        if isinstance(node, ast.Call) and ast.unparse(node) == "float('inf')":
            return float("inf")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return self._constant_of(module, node.value.id, node.attr)
        if isinstance(node, ast.Name):
            return self._assigned(module, node.id)
        return None

    def _constant_of(self, module: Module, owner: str, name: str) -> Number | None:
        """Return the value of ``owner.name``, a constant of another module."""
        outside = module.imported.get(owner)
        if outside is not None and (outside[0], name) in _NAMED:
            return _NAMED[outside[0], name]
        inside = self.module_called(module, owner)
        return None if inside is None else self._assigned(inside, name)

    def rows(self, module: Module, node: ast.expr) -> list[dict[str, ast.expr]] | None:
        """Return what each row of a table has for each field, if *node* names a table
        of *module*: a constant tuple of calls of one of its classes.
        """
        if not isinstance(node, ast.Name):
            return None
        table = module.assigned.get(node.id)
        if not isinstance(table, ast.Tuple):
            return None
        rows = []
        for row in table.elts:
            if not isinstance(row, ast.Call) or not isinstance(row.func, ast.Name):
                return None
            made = module.classes.get(row.func.id)
            if made is None:
                return None
            names = [
                field.target.id
                for field in made.body
                if isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
            ]
            given = dict(zip(names, row.args, strict=False))
            rows.append(given | {word.arg or "": word.value for word in row.keywords})
        return rows

    def _assigned(self, module: Module, name: str) -> Number | None:
        """Return the number that *name* is assigned at the top of its module."""
        found = self.find(module, name)
        if found is None:
            return None
        owner, original = found
        if original not in owner.assigned:
            return None
        return self.constant(owner, owner.assigned[original])

    def type_of(self, module: Module, node: ast.expr | None) -> Type:
        """Return the type that annotation *node* of *module* names.

        Raises TextError for an annotation that kernel text has not.
        """
        if node is None:
            raise module.place(module.tree).error("an annotation is missing")
        if isinstance(node, ast.Constant) and node.value is None:
            return NOTHING
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.type_of(module, ast.parse(node.value, mode="eval").body)
        found = None
        if isinstance(node, ast.Subscript):
            found = self._type_of_parts(module, node)
        elif isinstance(node, ast.Name):
            found = self._type_named(module, node.id)
        if found is None:
            raise module.place(node).error(
                f"{ast.unparse(node)} is no type of kernel text; take int, float, "
                "bool, a class of numbers and lists, list[...] or tuple[...]"
            )
        return found

    def _type_of_parts(self, module: Module, node: ast.Subscript) -> Type | None:
        """Return the type of a list, a tuple or a function; None for anything else."""
        name = ast.unparse(node.value)
        if name == "Callable":
            return self._function_type(module, node.slice)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name in LISTS and len(parts) == 1:
            return list_of(self.type_of(module, parts[0]))
        if name == "tuple":
            return Type("tuple", tuple(self.type_of(module, part) for part in parts))
        return None

    def _type_named(self, module: Module, name: str) -> Type | None:
        """Return the type that *name* of *module* stands for: a number, a class, or
        what the name is assigned; None for anything else.
        """
        if name in KNOWN_NAMES:
            return KNOWN_NAMES[name]
        found = self.find(module, name)
        if found is None:
            return None
        owner, original = found
        if original in owner.classes:
            return Type(self.class_of(owner, original).name)
        if original in owner.assigned:
            return self.type_of(owner, owner.assigned[original])
        return None

    def _function_type(self, module: Module, node: ast.expr) -> Type:
        """Return the type ``Callable[node]``."""
        if not isinstance(node, ast.Tuple) or not isinstance(node.elts[0], ast.List):
            raise module.place(node).error(
                "name the types of the parameters: Callable[[A, B], C]"
            )
        parameters, result = node.elts
        assert isinstance(parameters, ast.List)
        parts = [*parameters.elts, result]
        return Type("function", tuple(self.type_of(module, part) for part in parts))

    def class_of(self, module: Module, name: str) -> Class:
        """Return class *name* of *module* with its fields."""
        key = (module.name, name)
        if key not in self._classes:
            node = module.classes[name]
            if node.bases:
                raise module.place(node).error(
                    f"{name} takes fields from another class; name all its fields"
                )
            made = self._classes[key] = Class(f"{prefix_of(module)}_{name}")
            for statement in node.body:
                if not isinstance(statement, ast.AnnAssign):
                    continue
                assert isinstance(statement.target, ast.Name)
                made.fields[statement.target.id] = self.type_of(
                    module, statement.annotation
                )
        return self._classes[key]

    @property
    def classes(self) -> dict[str, Class]:
        """Return the classes that were used so far, by their names in C."""
        return {found.name: found for found in self._classes.values()}


def prefix_of(module: Module) -> str:
    """Return the words with which names of *module* begin in C: its last two names.

    One name is not enough: several packages have a module ``kernel``.
    """
    return "_".join(module.name.split(".")[-2:])


def _read(name: str, path: Path) -> Module:
    """Read a module."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    module = Module(name, path, tree)
    for statement in tree.body:
        _note(module, statement)
    return module


def _note(module: Module, statement: ast.stmt) -> None:
    """Note what *statement*, at the top of *module*, defines."""
    match statement:
        case ast.FunctionDef(name=name):
            module.functions[name] = statement
        case ast.ClassDef(name=name):
            module.classes[name] = statement
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    module.assigned[target.id] = value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            module.assigned[name] = value
        case ast.ImportFrom(module=source, names=aliases):
            for alias in aliases:
                local = alias.asname or alias.name
                module.imported[local] = (source or "", alias.name)
        case ast.Import(names=aliases):
            for alias in aliases:
                module.imported[alias.asname or alias.name] = (alias.name, None)
        case ast.If(body=body):
            # ``if TYPE_CHECKING:`` imports the names of annotations.
            for inner in body:
                _note(module, inner)
