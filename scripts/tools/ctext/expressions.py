"""Translate the expressions of kernel text into C; :mod:`ctext.translate` lists what
is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ctext.program import Function, Program, c_name, c_type
from ctext.source import Module, Number, TextError, prefix_of
from ctext.types import BOOL, FLOAT, INT, NOTHING, Type

MATHS = {
    "log": ("log", FLOAT),
    "log10": ("log10", FLOAT),
    "exp": ("exp", FLOAT),
    "sqrt": ("sqrt", FLOAT),
    "ulp": ("ulp", FLOAT),
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
COPY_RECORD = ("ioopt.compiled.text", "copy_record")
"""Module and name of the function that copies a record."""
COMPARED = {
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@dataclass(frozen=True)
class Value:
    """An expression in C, and its type. A *constant* is made of constants only."""

    text: str
    kind: Type
    constant: bool = False


class Expressions:
    """The expressions of one function. Statements are written before an expression
    where C would not keep Python's order of evaluation.
    """

    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.library = program.library
        self.function = function
        self.module = function.module
        self.locals: dict[str, Type] = {}
        self._variables = {*function.parameters, *_assigned(function.node)}
        self._lines: list[str] = []
        self._depth = 1
        self._numbers = 0
        self._conditions = 0

    def _write(self, line: str) -> None:
        """Add a line of C."""
        self._lines.append(f"{'  ' * self._depth}{line}")

    def _fresh(self) -> str:
        """Return a name that the text does not use."""
        name = ""
        while not name or name in self._variables:
            self._numbers += 1
            name = f"t_{self._numbers}"
        return name

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
                built_in = built_in or _counts_bits(part)
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
        number = None
        if not self._reads_variable(node):
            number = self.library.constant(self.module, node)
        if number is not None:
            return self._constant(node, number)
        translate_one = getattr(self, f"_of_{type(node).__name__}", None)
        if translate_one is None:
            raise self._error(node, f"a {type(node).__name__} has no translation")
        found: Value = translate_one(node)
        return found

    def _reads_variable(self, node: ast.expr) -> bool:
        """Return whether *node* reads a parameter or a local variable.

        As in Python, a name that the function assigns anywhere is a variable
        everywhere in it, also where the module has a constant of that name.
        """
        return any(
            isinstance(part, ast.Name) and part.id in self._variables
            for part in ast.walk(node)
        )

    def _constant(self, node: ast.expr, number: Number) -> Value:
        """Return a constant: as its number, or under its name if it has one."""
        if isinstance(number, bool):
            return Value("1" if number else "0", BOOL, True)
        kind = FLOAT if isinstance(number, float) else INT
        if kind == INT and abs(number) >= 1 << 63:
            raise self._error(node, f"{number} has more than 64 bits")
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
        if _counts_bits(node) and isinstance(node.func, ast.Attribute):
            return Value(f"bit_count({self._of_kind(node.func.value, INT)})", INT)
        name = ast.unparse(node.func)
        owner, _, last = name.rpartition(".")
        source = self.module.imported.get(owner or name)
        if source == ("math", None) or (not owner and source == ("math", name)):
            return self._of_math(node, last)
        called = self.function.parameters.get(name)
        if called is not None and called.is_function:
            return self._pointer_call(node, called)
        defined = self._defined(node, owner, last)
        if defined is None:
            return self._built_in(node, name)
        module, original = defined
        if (module.name, original) == COPY_RECORD:
            return self._copy(node)
        if original in module.functions:
            return self._own_call(node, self.program.function(module, original))
        raise self._error(node, f"{name} is no function of the text")

    def _defined(
        self, node: ast.Call, owner: str, name: str
    ) -> tuple[Module, str] | None:
        """Return the module that defines ``owner.name``, or *name* without an owner,
        and its name there; None if none does.
        """
        if not owner:
            return self.library.find(self.module, name)
        module = self.library.module_called(self.module, owner)
        if module is None:
            raise self._error(
                node, "methods have no translation but bit_count; call a function"
            )
        return self.library.find(module, name)

    def _built_in(self, node: ast.Call, name: str) -> Value:
        """Return the call of a function that Python has."""
        translate = getattr(self, f"_built_in_{name}", None)
        if translate is None or node.keywords:
            raise self._error(node, f"{name} is no function of the text")
        made: Value = translate(node)
        return made

    def _copy(self, node: ast.Call) -> Value:
        """Return the assignment of a whole record to another one."""
        source, target = self._in_order(node.args)
        record = self.library.classes.get(source.kind.name)
        if record is None or not record.is_record or source.kind != target.kind:
            raise self._error(node, "copy_record takes two records of one class")
        return Value(f"*{target.text} = *{source.text}", NOTHING)

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

    def _pointer_call(self, node: ast.Call, called: Type) -> Value:
        """Return the call of a parameter that is a function."""
        *kinds, result = called.items
        if len(node.args) != len(kinds) or node.keywords:
            raise self._error(node, f"this function takes {len(kinds)} values in order")
        texts = self._of_kinds(node.args, kinds)
        return Value(f"{ast.unparse(node.func)}({', '.join(texts)})", result)

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


def _counts_bits(node: ast.Call) -> bool:
    """Return whether *node* is ``x.bit_count()``, the one method of numbers in kernel
    text.
    """
    if not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return False
    return node.func.attr == "bit_count"


def _common(first: Type, second: Type) -> Type | None:
    """Return the type that values of both types have; None if there is none."""
    if first == second:
        return first
    if not (first.is_number and second.is_number):
        return None
    return FLOAT if FLOAT in (first, second) else INT


def _assigned(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the names that *function* assigns."""
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _reads_memory(node: ast.expr) -> bool:
    """Return whether *node* reads a field or an item."""
    return any(
        isinstance(part, (ast.Attribute, ast.Subscript)) for part in ast.walk(node)
    )


def _literal(number: Number) -> str:
    """Return a number as C writes it."""
    if isinstance(number, float):
        if number in (float("inf"), -float("inf")):
            return "INFINITY" if number > 0 else "(-INFINITY)"
        return repr(number) if number >= 0 else f"({number!r})"
    return f"{number}LL" if number >= 0 else f"({number}LL)"
