"""Translate functions of kernel text into C.

A function has annotations for all parameters and for what it returns. Parameters,
fields and results are numbers, records, tables, lists of numbers or of records, and
tuples of numbers as results (:mod:`ctext.types`). A local variable has the type of its
first assignment, or of its annotation; an int may be assigned to a float.

Statements: assignment (also to several names at once, and augmented), ``if``,
``while``, ``for`` over ``range`` or over a list, ``break``, ``continue``, ``pass``,
``return``, and calls. Expressions: numbers, constants of modules, names, fields, items
of lists, ``+ - * / // % ** << >> & | ^``, ``not``, ``and`` and ``or`` of conditions,
comparisons, ``x if c else y``, calls of functions of the text, ``len``, ``min``,
``max``, ``abs``, ``int``, ``float``, ``bool``, and ``log``, ``exp``, ``sqrt``,
``floor``, ``ceil``, ``isinf``, ``isnan`` of :mod:`math`.

The C gives the same numbers as Python as long as whole numbers stay within 64 bits, no
index is negative or too large, and nothing is divided by 0: Python would raise an error
there, C does not. A list must not be assigned to a field, nor a record: in Python both
names would mean the same object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ctext.source import Library, Module, Number, TextError, prefix_of
from ctext.types import (
    BOOL,
    C_NUMBERS,
    FLOAT,
    INT,
    INT8,
    INT32,
    NARROW,
    NOTHING,
    Class,
    Type,
)

MARKS = {"apart": "APART "}
"""Decorator -> what it adds to the function in C."""
MATHS = {
    "log": ("log", FLOAT),
    "exp": ("exp", FLOAT),
    "sqrt": ("sqrt", FLOAT),
    "floor": ("(int64_t)floor", INT),
    "ceil": ("(int64_t)ceil", INT),
    "isinf": ("0 != isinf", BOOL),
    "isnan": ("0 != isnan", BOOL),
}
SAME = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
"""Operators that are written alike in C."""
OF_INTS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
COMPARED = {
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
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
        return "void" if self.result == NOTHING else c_type(self.result)

    @property
    def head(self) -> str:
        """Return the C declaration without what comes before the result's type."""
        words = ", ".join(
            f"{c_type(kind)} {c_name(name)}" for name, kind in self.parameters.items()
        )
        return f"{self.c_result} {self.name}({words or 'void'})"


@dataclass
class Program:
    """What is translated: functions in the order in which they were needed, and the
    constants, lists and tuples that they use.
    """

    library: Library
    functions: dict[tuple[str, str], Function] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    tuples: dict[str, Type] = field(default_factory=dict)

    def function(self, module: Module, name: str) -> Function:
        """Return function *name* of *module*, which will be translated too."""
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
        return found


def translate(root: Path, entries: Iterable[str]) -> str:
    """Return the C of functions *entries* (``module:function``) and of all that they
    call; the modules are below *root*.

    Raises TextError for a text that is not kernel text.
    """
    program = Program(Library(root))
    exported = set()
    for entry in entries:
        name, _, function = entry.partition(":")
        module = program.library.module(name)
        if function not in module.functions:
            raise TextError(f"{module.path}: there is no function {function}")
        exported.add(program.function(module, function).name)
    bodies: dict[str, str] = {}
    waiting = list(program.functions.values())
    while waiting:
        for made in waiting:
            bodies[made.name] = "\n".join(Body(program, made).lines())
        waiting = [
            made for made in program.functions.values() if made.name not in bodies
        ]
    return _written(program, exported, bodies)


def _written(program: Program, exported: set[str], bodies: dict[str, str]) -> str:
    """Return the whole C file."""
    parts = [Path(__file__).with_name("head.h").read_text("utf-8").rstrip()]
    named = sorted(program.constants.items())
    parts.append("\n".join(f"#define {name} {value}" for name, value in named))
    parts += list(_types(program))
    ordered = sorted(program.functions.values(), key=lambda made: made.name)
    heads = {}
    for made in ordered:
        marks = "".join(MARKS[word] for word in _decorators(made))
        visible = "EXPORTED " if made.name in exported else "static "
        heads[made.name] = f"{visible}{marks}{made.head}"
    parts.append("\n".join(f"{head};" for head in heads.values()))
    for made in ordered:
        parts.append(f"{heads[made.name]} {{\n{bodies[made.name]}\n}}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _decorators(made: Function) -> list[str]:
    """Return the names of a function's decorators. TextError for an unknown one."""
    names = []
    for node in made.node.decorator_list:
        name = node.id if isinstance(node, ast.Name) else ast.unparse(node)
        if name not in MARKS:
            raise made.module.place(node).error(f"decorator {name} is not known")
        names.append(name)
    return names


def _types(program: Program) -> Iterator[str]:
    """Yield the C types: records, lists, tables and tuples."""
    classes = sorted(program.library.classes.values(), key=lambda found: found.name)
    records = [found for found in classes if found.is_record]
    tables = [found for found in classes if not found.is_record]
    yield from map(_struct, records)
    kinds = _kinds_of(program, classes)
    lists = {c_type(kind): kind.item for kind in kinds if kind.is_list}
    for name, item in sorted(lists.items()):
        stored = C_NUMBERS.get(item, item.name)
        yield f"typedef struct {{\n  {stored} *at;\n  int64_t length;\n}} {name};"
    for found in tables:
        yield f"typedef struct {found.name} {found.name};"
    yield from map(_struct, tables)
    for name, kind in sorted(program.tuples.items()):
        fields = " ".join(f"{c_type(item)} v{k};" for k, item in enumerate(kind.items))
        yield f"typedef struct {{ {fields} }} {name};"


def _struct(found: Class) -> str:
    """Return the C struct of a class."""
    lines = []
    for name, kind in found.fields.items():
        stored = C_NUMBERS[kind] if found.is_record else c_type(kind)
        lines.append(f"  {stored} {c_name(name)};")
    body = "\n".join(lines)
    if found.is_record:
        return f"typedef struct {{\n{body}\n}} {found.name};"
    return f"struct {found.name} {{\n{body}\n}};"


def _kinds_of(program: Program, classes: Iterable[Class]) -> Iterator[Type]:
    """Yield the types of all fields, parameters and results."""
    for found in classes:
        yield from found.fields.values()
    for made in program.functions.values():
        yield from made.parameters.values()


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
    return f"{kind.name} *"


@dataclass(frozen=True)
class Value:
    """An expression in C, and its type. A *constant* is made of constants only."""

    text: str
    kind: Type
    constant: bool = False


class Body:
    """The translation of one function's statements."""

    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.library = program.library
        self.function = function
        self.module = function.module
        self.locals: dict[str, Type] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._numbers = 0
        self._conditions = 0

    def lines(self) -> list[str]:
        """Return the lines of the body: the declarations, then the statements."""
        self._block(self.function.node.body)
        declared = []
        for name, kind in self.locals.items():
            start = "{0}" if kind.is_list else "0"
            declared.append(f"  {c_type(kind)} {c_name(name)} = {start};")
        return declared + self._lines

    # Statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        """Translate *statements*."""
        for statement in statements:
            translate_one = getattr(self, f"_{type(statement).__name__}", None)
            if translate_one is None:
                raise self._error(
                    statement, f"a {type(statement).__name__} has no translation"
                )
            translate_one(statement)

    def _inner(self, statements: Iterable[ast.stmt]) -> None:
        """Translate the statements of an inner block."""
        self._depth += 1
        self._block(statements)
        self._depth -= 1

    def _write(self, line: str) -> None:
        """Add a line of C."""
        self._lines.append(f"{'  ' * self._depth}{line}")

    def _fresh(self) -> str:
        """Return a name that the text does not use."""
        self._numbers += 1
        return f"t_{self._numbers}"

    def _Expr(self, node: ast.Expr) -> None:
        """Translate a call, or skip a docstring."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        if not isinstance(node.value, ast.Call):
            raise self._error(node, "an expression without an effect; leave it out")
        self._write(f"{self._call(node.value).text};")

    def _Pass(self, node: ast.Pass) -> None:
        """Write nothing."""

    def _Break(self, node: ast.Break) -> None:
        self._write("break;")

    def _Continue(self, node: ast.Continue) -> None:
        self._write("continue;")

    def _If(self, node: ast.If) -> None:
        """Translate ``if``, ``elif`` and ``else``."""
        self._write(f"if ({self._test(node.test)}) {{")
        self._inner(node.body)
        rest = node.orelse
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            (following,) = rest
            assert isinstance(following, ast.If)
            with self._condition():
                test = self._test(following.test)
            self._write(f"}} else if ({test}) {{")
            self._inner(following.body)
            rest = following.orelse
        if rest:
            self._write("} else {")
            self._inner(rest)
        self._write("}")

    def _While(self, node: ast.While) -> None:
        """Translate ``while``."""
        self._no_else(node)
        with self._condition():
            test = self._test(node.test)
        self._write(f"while ({test}) {{")
        self._inner(node.body)
        self._write("}")

    def _For(self, node: ast.For) -> None:
        """Translate a loop over a range or over a list.

        As in Python, the bounds are computed once, and the variable keeps its last
        value; what the body assigns to it does not change the number of turns. ``_``
        has no value.
        """
        self._no_else(node)
        if not isinstance(node.target, ast.Name):
            raise self._error(node, "a loop has one variable; take a name")
        count = self._fresh()
        ranged = isinstance(node.iter, ast.Call) and (
            isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        )
        if ranged:
            assert isinstance(node.iter, ast.Call)
            first, end, step = self._range(node.iter)
            item = INT
            sign = "<" if step > 0 else ">"
            self._write(
                f"for (int64_t {count} = {first}, end_{count} = {end}; {count} {sign} "
                f"end_{count}; {count} += {step}) {{"
            )
            taken = count
        else:
            listed = self._value(node.iter)
            if not listed.kind.is_list:
                raise self._error(node, "a loop goes over a range or over a list")
            item = listed.kind.item.value
            self._write(
                f"for (int64_t {count} = 0; {count} < {listed.text}.length; "
                f"{count} += 1) {{"
            )
            taken = f"{'' if item.is_number else '&'}AT({listed.text}, {count})"
        self._depth += 1
        if node.target.id != "_":
            self._declare(node, node.target.id, item)
            self._write(f"{c_name(node.target.id)} = {taken};")
        self._block(node.body)
        self._depth -= 1
        self._write("}")

    def _range(self, node: ast.Call) -> tuple[str, str, int]:
        """Return the first number, the end and the step of a range."""
        given = self._of_kinds(node.args, [INT] * len(node.args))
        step: Number | None = 1
        if len(given) == 3:
            step = self.library.constant(self.module, node.args[2])
        if not isinstance(step, int) or step == 0:
            raise self._error(node, "the step of a range is a constant other than 0")
        if len(given) == 1:
            return "0", given[0], step
        return given[0], given[1], step

    def _no_else(self, node: ast.For | ast.While) -> None:
        """Refuse the ``else`` of a loop."""
        if node.orelse:
            raise self._error(node, "the else of a loop has no translation")

    def _Return(self, node: ast.Return) -> None:
        """Translate ``return``, of a tuple too."""
        wanted = self.function.result
        if node.value is None or wanted == NOTHING:
            if node.value is not None or wanted != NOTHING:
                raise self._error(node, f"the result is not of type {wanted}")
            self._write("return;")
            return
        if wanted.name == "tuple" and isinstance(node.value, ast.Tuple):
            if len(node.value.elts) != len(wanted.items):
                raise self._error(node, f"the result is not of type {wanted}")
            parts = self._of_kinds(node.value.elts, wanted.items)
            self._write(f"return ({c_type(wanted)}){{{', '.join(parts)}}};")
            return
        self._write(f"return {self._of_kind(node.value, wanted)};")

    def _Assign(self, node: ast.Assign) -> None:
        """Translate an assignment, also of one number to several targets."""
        *others, target = node.targets
        if others:
            value = self._number(node.value)
            name = self._fresh()
            self._write(f"{c_type(value.kind)} {name} = {value.text};")
            for one in node.targets:
                self._store(one, Value(name, value.kind))
            return
        if isinstance(target, ast.Tuple):
            self._assign_several(node, target)
            return
        self._store(target, self._before(target, node.value))

    def _before(self, target: ast.expr, node: ast.expr) -> Value:
        """Return *node*, evaluated before the place that *target* names is found."""
        value = self._value(node)
        plain = isinstance(target, ast.Name)
        if not plain and (self._calls(node) or self._calls(target)):
            return self._kept(node, value)
        return value

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        """Translate the first assignment to a variable whose type is said."""
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise self._error(node, "an annotation belongs to a name with a value")
        kind = self.library.type_of(self.module, node.annotation)
        self._declare(node, node.target.id, kind)
        self._store(node.target, self._value(node.value))

    def _assign_several(self, node: ast.Assign, target: ast.Tuple) -> None:
        """Translate ``a, b = c, d`` and ``a, b = f(..)``; the right side is computed
        first.
        """
        if isinstance(node.value, ast.Tuple):
            if len(node.value.elts) != len(target.elts):
                raise self._error(node, "the two sides have different lengths")
            values = []
            for part in node.value.elts:
                value = self._value(part)
                name = self._fresh()
                self._write(f"{c_type(value.kind)} {name} = {value.text};")
                values.append(Value(name, value.kind))
        else:
            whole = self._value(node.value)
            if whole.kind.name != "tuple" or len(whole.kind.items) != len(target.elts):
                raise self._error(node, "the right side is no tuple of that length")
            name = self._fresh()
            self._write(f"{c_type(whole.kind)} {name} = {whole.text};")
            values = [
                Value(f"{name}.v{k}", kind) for k, kind in enumerate(whole.kind.items)
            ]
        for part, value in zip(target.elts, values, strict=True):
            self._store(part, value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        """Translate ``target op= value``."""
        if any(isinstance(part, ast.Call) for part in ast.walk(node.target)):
            raise self._error(node, "a call in the target would be made twice")
        changed = ast.copy_location(
            ast.BinOp(_loaded(node.target), node.op, node.value), node
        )
        self._store(node.target, self._before(node.target, changed))

    def _store(self, target: ast.expr, value: Value) -> None:
        """Write the assignment of *value* to *target*."""
        if isinstance(target, ast.Name):
            kind = self.function.parameters.get(target.id)
            if kind is None:
                kind = self._declare(target, target.id, value.kind)
            text = c_name(target.id)
            stored = kind
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            place = self._place(target)
            text, stored = place.text, place.kind
            kind = stored.value
            if not kind.is_number:
                raise self._error(
                    target, f"a {kind} cannot be stored; assign its numbers"
                )
        else:
            raise self._error(target, "assign to a name, a field or an item")
        self._write(f"{text} = {self._fitted(target, value, kind, stored)};")

    def _fitted(self, node: ast.AST, value: Value, kind: Type, stored: Type) -> str:
        """Return *value* as text for a variable of *kind*; *stored* may be narrow."""
        text = self._converted(node, value, kind)
        if stored == INT32:
            return f"FIT32({text})"
        if stored == INT8:
            return f"FIT8({text})"
        return text

    def _declare(self, node: ast.AST, name: str, kind: Type) -> Type:
        """Return the type of local variable *name*; *kind* is that of its first
        value.
        """
        if name in self.function.parameters:
            return self.function.parameters[name]
        if kind == NOTHING or kind.name == "tuple":
            raise self._error(node, f"{name} cannot be a {kind}")
        return self.locals.setdefault(name, kind.value)

    # Expressions

    def _converted(self, node: ast.AST, value: Value, kind: Type) -> str:
        """Return *value* where one of *kind* is wanted. TextError if it is none."""
        if value.kind == kind or (value.kind == BOOL and kind == INT):
            return value.text
        if kind == FLOAT and value.kind in (INT, BOOL):
            return f"(double)({value.text})"
        raise self._error(
            node,
            f"a {value.kind} where a {kind} is wanted; convert it, or write the "
            "first value with that type (0.0 for a float)",
        )

    def _of_kind(self, node: ast.expr, kind: Type) -> str:
        """Return the C of *node*, which must be of *kind*."""
        return self._converted(node, self._value(node), kind)

    def _of_kinds(self, nodes: Sequence[ast.expr], kinds: Sequence[Type]) -> list[str]:
        """Return the C of *nodes*, which are evaluated in this order."""
        values = self._in_order(nodes)
        return [
            self._converted(node, value, kind)
            for node, value, kind in zip(nodes, values, kinds, strict=True)
        ]

    def _in_order(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Return the values of *nodes*, evaluated in this order.

        C does not say which operand of an operation, or which argument of a call, is
        evaluated first. A call of a function of the text may change what others read.
        So what comes before such a call, and a call before something that is read, are
        stored in variables.
        """
        values = []
        for k, node in enumerate(nodes):
            value = self._value(node)
            later = nodes[k + 1 :]
            changes = self._calls(node) and any(map(_reads_memory, later))
            if changes or any(map(self._calls, later)):
                value = self._kept(node, value)
            values.append(value)
        return values

    def _kept(self, node: ast.expr, value: Value) -> Value:
        """Return *value* as it is now: a constant, or a variable that a call cannot
        change.
        """
        if value.constant or isinstance(node, ast.Name):
            return value
        if self._conditions:
            raise self._error(
                node,
                "a call follows in the same condition, and C may make it first; "
                "assign this to a variable before",
            )
        name = self._fresh()
        self._write(f"{c_type(value.kind)} {name} = {value.text};")
        return Value(name, value.kind)

    def _calls(self, node: ast.expr) -> bool:
        """Return whether *node* calls a function of the text."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                name = ast.unparse(part.func)
                owner, _, last = name.rpartition(".")
                source = self.module.imported.get(owner or name, ("", None))[0]
                built_in = not owner and hasattr(self, f"_built_in_{last}")
                if source != "math" and not built_in:
                    return True
        return False

    @contextmanager
    def _condition(self) -> Iterator[None]:
        """Translate what C may evaluate or not: no statement can be written before."""
        self._conditions += 1
        yield
        self._conditions -= 1

    def _test(self, node: ast.expr) -> str:
        """Return the C of a condition; a number holds if it is not 0."""
        if isinstance(node, ast.BoolOp):
            word = " && " if isinstance(node.op, ast.And) else " || "
            first, *rest = node.values
            parts = [self._test(first)]
            with self._condition():
                parts += map(self._test, rest)
            return word.join(f"({part})" for part in parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!({self._test(node.operand)})"
        value = self._value(node)
        if not value.kind.is_number:
            raise self._error(node, f"a {value.kind} is no condition; compare it")
        return value.text

    def _value(self, node: ast.expr) -> Value:
        """Return the C of an expression with its type."""
        number = self.library.constant(self.module, node)
        if isinstance(node, ast.Name) and self._is_variable(node.id):
            number = None
        if number is not None:
            return self._constant(node, number)
        translate_one = getattr(self, f"_of_{type(node).__name__}", None)
        if translate_one is None:
            raise self._error(node, f"a {type(node).__name__} has no translation")
        found: Value = translate_one(node)
        return found

    def _is_variable(self, name: str) -> bool:
        """Return whether *name* is a parameter or a local variable."""
        return name in self.function.parameters or name in self.locals

    def _constant(self, node: ast.expr, number: Number) -> Value:
        """Return a constant: as its number, or under its name if it has one."""
        if isinstance(number, bool):
            return Value("1" if number else "0", BOOL, True)
        kind = FLOAT if isinstance(number, float) else INT
        text = _literal(number)
        if isinstance(node, (ast.Name, ast.Attribute)) and text not in ("INFINITY",):
            name = node.id if isinstance(node, ast.Name) else node.attr
            owner = self.module
            if isinstance(node, ast.Attribute):
                assert isinstance(node.value, ast.Name)
                found = self.library.module_called(self.module, node.value.id)
                if found is None:  # such as math.pi
                    return Value(text, kind, True)
                owner = found
            defined = self.library.find(owner, name)
            assert defined is not None
            named = f"{prefix_of(defined[0])}_{defined[1]}"
            self.program.constants[named] = text
            return Value(named, kind, True)
        return Value(text, kind, True)

    def _of_Name(self, node: ast.Name) -> Value:
        """Return a variable."""
        kind = self.function.parameters.get(node.id) or self.locals.get(node.id)
        if kind is None:
            raise self._error(
                node, f"{node.id} is neither a variable that has a value nor a number"
            )
        return Value(c_name(node.id), kind)

    def _place(self, node: ast.Attribute | ast.Subscript) -> Value:
        """Return a field, or an item of a list, with the type in which it is stored."""
        owner = self._value(node.value)
        if isinstance(node, ast.Attribute):
            known = self.library.classes.get(owner.kind.name)
            if known is None or node.attr not in known.fields:
                raise self._error(node, f"a {owner.kind} has no field {node.attr}")
            return Value(f"{owner.text}->{c_name(node.attr)}", known.fields[node.attr])
        if not owner.kind.is_list:
            raise self._error(node, f"a {owner.kind} has no items")
        index = self._of_kind(node.slice, INT)
        return Value(f"AT({owner.text}, {index})", owner.kind.item)

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        """Return the value of a field."""
        place = self._place(node)
        return Value(place.text, place.kind.value)

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        """Return an item: a number, or the address of a record."""
        place = self._place(node)
        text = place.text if place.kind.is_number else f"(&{place.text})"
        return Value(text, place.kind.value)

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        """Return an operation on two numbers."""
        left, right = self._in_order([node.left, node.right])
        for value in (left, right):
            if not value.kind.is_number:
                raise self._error(node, f"a {value.kind} is no number")
        real = FLOAT in (left.kind, right.kind)
        if isinstance(node.op, OF_INTS) and real:
            raise self._error(node, "this operation is of whole numbers only")
        if isinstance(node.op, ast.Div):
            return Value(f"((double){left.text} / (double){right.text})", FLOAT)
        if isinstance(node.op, ast.Pow):
            if not real:
                raise self._error(node, "a power of whole numbers; take one float")
            return Value(f"pow({left.text}, {right.text})", FLOAT)
        kind = FLOAT if real else INT
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            word = "floor" if isinstance(node.op, ast.FloorDiv) else "mod"
            return Value(f"{word}_{kind}({left.text}, {right.text})", kind)
        word = SAME[type(node.op)]
        both_bool = left.kind == BOOL and right.kind == BOOL
        if both_bool and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            kind = BOOL
        return Value(f"({left.text} {word} {right.text})", kind)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        """Return ``-x``, ``~x`` or ``not x``."""
        if isinstance(node.op, ast.Not):
            return Value(f"(!({self._test(node.operand)}))", BOOL)
        value = self._value(node.operand)
        if not value.kind.is_number or isinstance(node.op, ast.UAdd):
            raise self._error(node, "this sign has no translation")
        if isinstance(node.op, ast.Invert):
            if value.kind != INT:
                raise self._error(node, "~ is of whole numbers only")
            return Value(f"(~{value.text})", INT)
        return Value(f"(-{value.text})", FLOAT if value.kind == FLOAT else INT)

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        """Return ``and`` or ``or`` as a value: its parts must be conditions, since
        Python returns one of them.
        """
        for part in node.values:
            with self._condition():
                kind = self._value(part).kind
            if kind != BOOL:
                raise self._error(
                    part, f"and, or would return a {kind}; compare it, such as x != 0"
                )
        return Value(f"({self._test(node)})", BOOL)

    def _of_Compare(self, node: ast.Compare) -> Value:
        """Return a comparison of numbers, also a chain of them."""
        if any(type(sign) not in COMPARED for sign in node.ops):
            raise self._error(node, "is and in have no translation; compare numbers")
        parts = [node.left, *node.comparators]
        for part in parts[1:-1]:
            if any(isinstance(inner, ast.Call) for inner in ast.walk(part)):
                raise self._error(node, "a call in a chain would be made twice")
        values = self._in_order(parts)
        for value in values:
            if not value.kind.is_number:
                raise self._error(node, f"a {value.kind} cannot be compared")
        words = [
            f"{left.text} {COMPARED[type(sign)]} {right.text}"
            for left, sign, right in zip(values, node.ops, values[1:], strict=False)
        ]
        if len(words) == 1:
            return Value(f"({words[0]})", BOOL)
        return Value("(" + " && ".join(f"({word})" for word in words) + ")", BOOL)

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        """Return ``x if c else y``."""
        test = self._test(node.test)
        with self._condition():
            first = self._value(node.body)
            second = self._value(node.orelse)
        kind = _common(first.kind, second.kind)
        if kind is None:
            raise self._error(node, f"a {first.kind} or a {second.kind}; take one type")
        one = self._converted(node, first, kind)
        other = self._converted(node, second, kind)
        return Value(f"({test} ? {one} : {other})", kind)

    def _of_Call(self, node: ast.Call) -> Value:
        """Return a call."""
        return self._call(node)

    def _call(self, node: ast.Call) -> Value:
        """Return a call of a function of the text, of Python or of ``math``."""
        name = ast.unparse(node.func)
        owner, _, last = name.rpartition(".")
        source = self.module.imported.get(owner or name)
        if source == ("math", None) or (not owner and source == ("math", name)):
            return self._of_math(node, last)
        module = self.module
        if owner:
            found = self.library.module_called(self.module, owner)
            if found is None:
                raise self._error(node, "methods have no translation; call a function")
            module = found
        defined = self.library.find(module, last)
        if defined is not None and defined[1] in defined[0].functions:
            return self._own_call(node, self.program.function(*defined))
        built_in = getattr(self, f"_built_in_{name}", None)
        if defined is None and built_in is not None and not node.keywords:
            made: Value = built_in(node)
            return made
        raise self._error(node, f"{name} is no function of the text")

    def _own_call(self, node: ast.Call, made: Function) -> Value:
        """Return the call of a function of the text."""
        names = list(made.parameters)
        given = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in given:
                raise self._error(node, f"{made.node.name} gets a parameter twice")
            given[keyword.arg] = keyword.value
        defaults = made.node.args.defaults
        filled = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        if len(node.args) > len(names) or set(given) - set(names):
            raise self._error(node, f"{made.node.name} has no such parameter")
        kinds = [made.parameters[name] for name in given]
        passed = dict(zip(given, self._of_kinds([*given.values()], kinds), strict=True))
        texts = []
        for name, kind in made.parameters.items():
            if name in passed:
                texts.append(passed[name])
                continue
            number = None
            if name in filled:
                number = self.library.constant(made.module, filled[name])
            if number is None:
                raise self._error(node, f"{made.node.name} needs {name}")
            value = self._constant(ast.Constant(number), number)
            texts.append(self._converted(node, value, kind))
        return Value(f"{made.name}({', '.join(texts)})", made.result)

    def _of_math(self, node: ast.Call, name: str) -> Value:
        """Return the call of a function of ``math``."""
        if name not in MATHS or len(node.args) != 1:
            raise self._error(node, f"math.{name} has no translation")
        word, kind = MATHS[name]
        return Value(f"({word}({self._of_kind(node.args[0], FLOAT)}))", kind)

    def _built_in_len(self, node: ast.Call) -> Value:
        """Return the length of a list."""
        value = self._value(self._only(node))
        if not value.kind.is_list:
            raise self._error(node, "len is of lists")
        return Value(f"{value.text}.length", INT)

    def _built_in_float(self, node: ast.Call) -> Value:
        """Return a number as a float."""
        return Value(f"(double)({self._number(self._only(node)).text})", FLOAT)

    def _built_in_int(self, node: ast.Call) -> Value:
        """Return a number as an int, without its fraction."""
        return Value(f"(int64_t)({self._number(self._only(node)).text})", INT)

    def _built_in_bool(self, node: ast.Call) -> Value:
        """Return whether a number is not 0."""
        return Value(f"({self._number(self._only(node)).text} != 0)", BOOL)

    def _built_in_abs(self, node: ast.Call) -> Value:
        """Return the absolute value of a number."""
        value = self._number(self._only(node))
        if value.kind == FLOAT:
            return Value(f"fabs({value.text})", FLOAT)
        return Value(f"abs_int({value.text})", INT)

    def _built_in_min(self, node: ast.Call) -> Value:
        """Return the least of several numbers; of equal ones the first."""
        return self._folded(node, "min")

    def _built_in_max(self, node: ast.Call) -> Value:
        """Return the greatest of several numbers; of equal ones the first."""
        return self._folded(node, "max")

    def _folded(self, node: ast.Call, word: str) -> Value:
        """Return *word*, of two numbers, applied to all arguments from the left."""
        if len(node.args) < 2:
            raise self._error(node, f"{word} of at least two numbers")
        values = self._in_order(node.args)
        for value in values:
            if not value.kind.is_number:
                raise self._error(node, f"a {value.kind} is no number")
        kind = FLOAT if any(value.kind == FLOAT for value in values) else INT
        text = values[0].text
        for value in values[1:]:
            text = f"{word}_{kind}({text}, {value.text})"
        return Value(text, kind)

    def _only(self, node: ast.Call) -> ast.expr:
        """Return the one argument of a call."""
        if len(node.args) != 1:
            raise self._error(node, f"{ast.unparse(node.func)} of one argument")
        return node.args[0]

    def _number(self, node: ast.expr) -> Value:
        """Return *node*, which must be a number."""
        value = self._value(node)
        if not value.kind.is_number:
            raise self._error(node, f"a {value.kind} is no number")
        return value

    def _error(self, node: ast.AST, message: str) -> TextError:
        """Return the error that says *message* of *node*."""
        return self.module.place(node).error(message)


def _common(first: Type, second: Type) -> Type | None:
    """Return the type that values of both types have; None if there is none."""
    if first == second:
        return first
    if not (first.is_number and second.is_number):
        return None
    return FLOAT if FLOAT in (first, second) else INT


def _reads_memory(node: ast.expr) -> bool:
    """Return whether *node* reads a field or an item."""
    return any(
        isinstance(part, (ast.Attribute, ast.Subscript)) for part in ast.walk(node)
    )


def _loaded(target: ast.expr) -> ast.expr:
    """Return *target* as an expression that is read."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(
            ast.Attribute(target.value, target.attr, ast.Load()), target
        )
    assert isinstance(target, ast.Subscript)
    return ast.copy_location(
        ast.Subscript(target.value, target.slice, ast.Load()), target
    )


def _literal(number: Number) -> str:
    """Return a number as C writes it."""
    if isinstance(number, float):
        if number in (float("inf"), -float("inf")):
            return "INFINITY" if number > 0 else "(-INFINITY)"
        return repr(number) if number >= 0 else f"({number!r})"
    return f"{number}LL" if number >= 0 else f"({number}LL)"
