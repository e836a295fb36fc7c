"""Translate functions of kernel text into C.

A function has annotations for all parameters and for what it returns. Parameters,
fields and results are numbers, records, tables, lists of numbers or of records, tuples
of numbers as results, and functions as parameters (:mod:`ctext.types`). A local
variable has the type of its first assignment, or of its annotation; an int may be
assigned to a float. A function with the decorator ``in_c(other)`` is replaced by
``other``.

Statements: assignment (also to several names at once, and augmented), ``if``,
``while``, ``for`` over ``range``, over a list, or over a table (a constant tuple of
rows, each the call of a class, in the same module; its fields are constants or
functions), ``break``, ``continue``, ``pass``, ``return``, and calls. Expressions:
numbers, constants of modules, names, fields, items of lists,
``+ - * / // % ** << >> & | ^``, ``not``, ``and`` and ``or`` of conditions, comparisons,
``x if c else y``, calls of functions of the text, ``len``, ``min``, ``max``, ``abs``,
``int``, ``float``, ``bool``, ``x.bit_count()``, and ``log``, ``log10``, ``exp``,
``sqrt``, ``ulp``, ``floor``, ``ceil``, ``isinf``, ``isnan`` of :mod:`math`.

The C gives the same numbers as Python as long as whole numbers stay within 64 bits, no
index is negative or too large, and nothing is divided by 0: Python would raise an error
there, C does not. Whole numbers above 2**53 are rounded to floats before they are
compared with a float or divided by ``/``, where Python computes exactly. A list must
not be assigned to a field, nor a record: in Python both names would mean the same
object.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from pathlib import Path

from ctext.expressions import Expressions, Value
from ctext.program import Program, c_name, c_result, c_type
from ctext.source import Library, Number, TextError
from ctext.types import C_NUMBERS, INT, INT8, INT32, NOTHING, Class, Type


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
        for mark in made.node.decorator_list:
            name = ast.unparse(mark)
            raise made.module.place(mark).error(f"decorator {name} is not known")
        # Compilers put more functions into their callers if they are asked to.
        visible = "EXPORTED " if made.name in exported else "static inline "
        heads[made.name] = f"{visible}{made.head}"
    parts.append("\n".join(f"{head};" for head in heads.values()))
    for made in ordered:
        parts.append(f"{heads[made.name]} {{\n{bodies[made.name]}\n}}")
    return "\n\n".join(part for part in parts if part) + "\n"


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
    for name, kind in sorted(program.pointers.items()):
        *parameters, result = kind.items
        words = ", ".join(map(c_type, parameters))
        yield f"typedef {c_result(result)} (*{name})({words or 'void'});"


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
    for pointer in program.pointers.values():
        yield from pointer.items


class Body(Expressions):
    """The translation of one function's statements."""

    def lines(self) -> list[str]:
        """Return the lines of the body: the declarations, then the statements."""
        self._block(self.function.node.body)
        declared = []
        for name, kind in self.locals.items():
            start = "{0}" if kind.is_list else "0"
            declared.append(f"  {c_type(kind)} {c_name(name)} = {start};")
        return declared + self._lines

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
        """Translate a loop over a range, over a list, or over a table of rows.

        As in Python, the bounds are computed once, and the variable keeps its last
        value; what the body assigns to it does not change the number of turns. ``_``
        has no value.
        """
        self._no_else(node)
        if not isinstance(node.target, ast.Name):
            raise self._error(node, "a loop has one variable; take a name")
        rows = self.library.rows(self.module, node.iter)
        if rows is not None:
            self._unroll(node, node.target.id, rows)
            return
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
            text = self._list_of_loop(node, listed)
            self._write(
                f"for (int64_t {count} = 0; {count} < {text}.length; {count} += 1) {{"
            )
            taken = f"{'' if item.is_number else '&'}AT({text}, {count})"
        self._depth += 1
        if node.target.id != "_":
            self._declare(node, node.target.id, item)
            self._write(f"{c_name(node.target.id)} = {taken};")
        self._block(node.body)
        self._depth -= 1
        self._write("}")

    def _unroll(
        self, node: ast.For, name: str, rows: Iterable[dict[str, ast.expr]]
    ) -> None:
        """Translate the body of a loop once for each row of a table; *name* is the
        variable that stands for a row.
        """
        if any(isinstance(part, (ast.Break, ast.Continue)) for part in ast.walk(node)):
            raise self._error(
                node, "break and continue have no translation here; return instead"
            )
        for row in rows:
            for part in ast.walk(node):
                if _field_of(part, name) not in (None, *row):
                    raise self._error(part, f"a row has no {_field_of(part, name)}")
            self._block(_of_row(statement, name, row) for statement in node.body)

    def _list_of_loop(self, node: ast.For, listed: Value) -> str:
        """Return the list over which a loop goes, stored in a variable if the loop
        might change what names it.
        """
        named = {part.id for part in ast.walk(node.iter) if isinstance(part, ast.Name)}
        changed = {
            part.id
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        if not named & changed and not self._calls(node.iter):
            return listed.text
        name = self._fresh()
        self._write(f"{c_type(listed.kind)} {name} = {listed.text};")
        return name

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


def _field_of(node: ast.AST, name: str) -> str | None:
    """Return the field of variable *name* that *node* is; None if it is none."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == name else None
    return None


def _of_row(statement: ast.stmt, name: str, row: dict[str, ast.expr]) -> ast.stmt:
    """Return a copy of *statement* for one row of a table: what the row has stands in
    the place of each field of *name*.
    """

    class Filled(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            field = _field_of(node, name)
            if field is None:
                return self.generic_visit(node)
            return ast.copy_location(copy.copy(row[field]), node)

    filled = Filled().visit(copy.deepcopy(statement))
    assert isinstance(filled, ast.stmt)
    return filled
