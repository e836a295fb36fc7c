"""The translator from kernel text to C: the C gives what Python gives, and what has no
translation is refused with its line.
"""

import ctypes
import importlib.util
import math
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "tools"))

from ctext.source import TextError
from ctext.translate import translate

from ioopt.compiled.memory import Machine, Plain, struct_of

HERE = Path(__file__).resolve().parent
GCC = shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(GCC is None, reason="no C compiler is here")
FLAGS = ("-O2", "-fwrapv", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC")


def made(folder, text, *names, defined=()):
    """Return the Python module of *text* and its functions *names* in C."""
    path = folder / "text.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("text", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["text"] = module
    spec.loader.exec_module(module)
    (folder / "text.c").write_text(translate(folder, [f"text:{n}" for n in names]))
    library = folder / "libtext.so"
    words = [f"-D{word}" for word in defined]
    subprocess.run(
        [GCC, *FLAGS, *words, "-o", library, folder / "text.c", "-lm"], check=True
    )
    loaded = ctypes.CDLL(str(library))
    kinds = {int: ctypes.c_int64, float: ctypes.c_double, bool: ctypes.c_int64}
    for name in names:
        function = getattr(loaded, f"text_{name}")
        noted = module.__dict__[name].__annotations__
        *given, result = noted.values()
        function.restype = kinds.get(result)
        function.argtypes = [kinds.get(kind, ctypes.c_void_p) for kind in given]
    return module, loaded


NUMBERS = """
import math
from math import log

LARGE = 1 << 40


def floors(a: int, b: int) -> int:
    return a // b * 1000 + a % b


def real_floor(a: float, b: float) -> float:
    return a // b


def real_mod(a: float, b: float) -> float:
    return a % b


def plain_ulp(a: float) -> float:
    return math.log10(0.5 + abs(a)) + math.ulp(a)


def digits(a: float) -> float:
    return math.log10(0.5 + abs(a)) + math.ulp(a) * 10.0 ** math.floor(a)


def mixed(a: int, b: float) -> float:
    return a * b - a / 3 + max(a, b) - min(2, a, b)


def powers(a: float, b: float) -> float:
    roots = math.sqrt(abs(b)) + log(1.0 + abs(a))
    return (0.5 + abs(a)) ** b + roots - math.exp(-abs(b))


def bits(a: int, b: int) -> int:
    return (a << 3 | b & 255) ^ (a >> 2) ^ ~b


def counted(a: int, b: int) -> int:
    wide = a << 57
    return 100 * wide.bit_count() + (~a & b).bit_count()


def parts(a: float) -> int:
    return int(a) * LARGE + math.floor(a) - math.ceil(a) + abs(int(a))


def logic(a: int, b: int) -> int:
    c = a < b <= 5 or not a
    if a and (b or c):
        return 1 if c else -1
    elif a == b:
        return 7
    else:
        d = c and a != b
        return int(d) + int(bool(a)) * 4
"""


@needs_compiler
def test_numbers_are_those_of_python(tmp_path):
    """``-7 // 2`` is -4 and ``-7 % 2`` is 1 in Python, -3 and -1 in C."""
    names = (
        *("floors", "real_floor", "real_mod", "mixed", "powers", "bits", "parts"),
        *("logic", "digits", "plain_ulp", "counted"),
    )
    python, c = made(tmp_path, NUMBERS, *names)
    assert c.text_floors(-7, 2) == -4 * 1000 + 1 == python.floors(-7, 2)
    for extreme in (0.0, 5e-324, -5e-324, 1e308, 1.7976931348623157e308):
        wanted = math.log10(0.5 + abs(extreme)) + math.ulp(extreme)
        assert c.text_plain_ulp(extreme) == wanted
    assert c.text_plain_ulp(math.inf) == math.inf
    draw = random.Random(46)
    for _ in range(3000):
        whole = [draw.randint(-50, 50) for _ in range(2)]
        whole[1] = whole[1] or 1
        real = [draw.choice([draw.uniform(-9, 9), draw.randint(-9, 9) / 4, 0.0])]
        real.append(draw.choice([draw.uniform(-9, 9), draw.randint(1, 9) / 4]))
        for name, given in (
            ("floors", whole),
            ("bits", whole),
            ("counted", whole),
            ("logic", [number // 10 for number in whole]),
            ("real_floor", real),
            ("real_mod", real),
            ("powers", real),
            ("digits", real[:1]),
            ("mixed", [whole[0], real[0]]),
            ("parts", real[:1]),
        ):
            wanted = getattr(python, name)(*given)
            found = getattr(c, f"text_{name}")(*given)
            assert found == wanted, (name, given)
            assert math.copysign(1, found) == math.copysign(1, wanted), (name, given)


LOOPS = """
def turns(a: int, b: int) -> int:
    total = 0
    for k in range(a, b, 3):
        if k == 4:
            continue
        if k > 40:
            break
        total = total * 3 + k
        k = 0
    for k in range(b, a, -2):
        total -= k
    while total > 1000:
        total //= 7
    return total


def pair(a: int, b: int) -> tuple[int, float]:
    a, b = b, a + b
    return a, b / 2


def swapped(a: int, b: int = 5) -> float:
    first, second = pair(a, b=b)
    first = third = 2
    return float(first) + second * 100 + third


def often(a: int) -> float:
    pass
    short = 1.0
    for double in range(a):
        short += swapped(double) + swapped(double, 1)
    return short
"""


@needs_compiler
def test_loops_calls_and_tuples_are_those_of_python(tmp_path):
    """The variable of a loop may change, its turns do not; both sides are swapped;
    words of C are names.
    """
    python, c = made(tmp_path, LOOPS, "turns", "often")
    for a in range(-9, 9):
        for b in range(-60, 60):
            assert c.text_turns(a, b) == python.turns(a, b)
        assert c.text_often(a) == python.often(a)


SHADOWS = """
LIMIT = 5
MOST = 7


def given(LIMIT: int) -> int:
    return LIMIT + 1 - -LIMIT * 10 + MOST


def assigned(a: int) -> int:
    total = MOST
    LIMIT = a * 2
    for t_1 in range(LIMIT + 1):
        total += t_1 * 2 - LIMIT
    return total


def turned(first: list[int], second: list[int]) -> int:
    total = 0
    for item in first:
        first = second
        total = total * 3 + item
    return total
"""


@needs_compiler
def test_variables_hide_constants_and_loops_keep_their_lists(tmp_path):
    """A name that a function assigns is no constant of the module in any expression."""
    text, c = made(tmp_path, SHADOWS, "given", "assigned", "turned")
    for a in range(-3, 9):
        assert c.text_given(a) == text.given(a)
        assert c.text_assigned(a) == text.assigned(a)
    make = Machine(c)
    lists = make.ints([1, 2, 3]), make.ints([9])
    assert make.function(text.turned)(*lists) == text.turned([1, 2, 3], [9]) == 18


RECORDS = """
from __future__ import annotations

from dataclasses import dataclass

from ioopt.compiled.memory import Int8, Int32


@dataclass(slots=True)
class Job:
    seconds: float
    node: Int32
    state: Int8
    done: bool


@dataclass(slots=True)
class Tally:
    done: int
    seconds: float


@dataclass(slots=True)
class World:
    jobs: list[Job]
    order: list[int]
    tally: Tally
    most: int


def serve(world: World, scale: float) -> int:
    jobs = world.jobs
    tally = world.tally
    for k in world.order:
        job = jobs[k]
        job.seconds *= scale
        job.node = k - 5
        job.state -= 1
        job.done = job.seconds > 2
        tally.seconds += job.seconds
    for job in jobs:
        if job.done:
            tally.done += job.node
    world.order[0] = len(jobs) - world.most
    return tally.done


def best(world: World) -> tuple[int, float]:
    found = 0
    for k in range(1, len(world.jobs)):
        if world.jobs[k].seconds > world.jobs[found].seconds:
            found = k
    return found, world.jobs[found].seconds


def any_done(world: World) -> bool:
    return world.jobs[0].done or world.jobs[1].done or world.jobs[2].done


def beyond(world: World, k: int) -> float:
    return world.jobs[k].seconds
"""


ORDER = """
from dataclasses import dataclass


@dataclass(slots=True)
class Dice:
    state: int
    trail: list[int]


def draw(dice: Dice, below: int) -> int:
    dice.state = dice.state * 16807 % 2147483647
    return dice.state % below


def share(a: int, b: int, c: int = 3) -> float:
    return (a * 31 + b) * 31.0 + c


def mixed(dice: Dice, k: int) -> float:
    at = k % 3
    total = dice.state % 97 - draw(dice, 97) * 2 - dice.state % 89
    total += max(dice.state % 7, draw(dice, 9), dice.state % 11)
    dice.trail[dice.state % 3] = draw(dice, 50)
    dice.trail[at] += draw(dice, 60) if draw(dice, 2) == 0 else dice.trail[1]
    if draw(dice, 30) < draw(dice, 40):
        total += 1000
    dice.trail[0], dice.trail[1] = draw(dice, 70), dice.trail[0]
    for k in range(draw(dice, 5), draw(dice, 9)):
        total += k
    real = share(draw(dice, 30), draw(dice, 40)) - share(c=draw(dice, 3), a=1, b=at)
    return total * 1.5 + real / (1.0 + draw(dice, 20))
"""


@needs_compiler
def test_operands_are_evaluated_in_the_order_of_python(tmp_path):
    """``a - draw(..) - a`` reads ``a`` before the call and after it; C may choose."""
    text, c = made(tmp_path, ORDER, "mixed")
    ours, theirs = Plain(), Machine(c)
    for seed in range(1, 400):
        dice = [
            make.table(text.Dice, state=seed, trail=make.ints([1, 2, 3]))
            for make in (ours, theirs)
        ]
        found = [
            make.function(text.mixed)(one, seed)
            for make, one in zip((ours, theirs), dice, strict=True)
        ]
        assert found[0] == found[1]
        assert dice[0].state == dice[1].state
        assert dice[0].trail == list(dice[1].trail)


def world_of(make, text):
    return make.table(
        text.World,
        jobs=make.records(text.Job, 3, seconds=[1.0, 2.0, 3.0], state=3),
        order=make.ints([2, 0, 1]),
        tally=make.records(text.Tally, 1)[0],
        most=9,
    )


@needs_compiler
def test_records_and_lists_are_changed_in_place(tmp_path):
    """Seconds 2.7, .9, 1.8: one job above 2, on node 2 - 5; 3 jobs less 9."""
    text, library = made(tmp_path, RECORDS, "serve", "best", "any_done")
    worlds = []
    for make in (Plain(), Machine(library)):
        world = world_of(make, text)
        assert make.function(text.serve)(world, 0.9) == -3
        first, seconds = make.function(text.best)(world)
        assert (first, seconds) == (2, 2.7)
        assert make.function(text.any_done)(world) is True
        assert (list(world.order), world.tally.done) == ([-6, 0, 1], -3)
        worlds.append(
            [(j.seconds, j.node, j.state, bool(j.done)) for j in world.jobs]
            + [world.tally.seconds]
        )
    assert worlds[0] == worlds[1]
    assert ctypes.sizeof(struct_of(text.Job)) == 16
    with pytest.raises(TypeError, match="Job has no field stauts"):
        Machine(library).records(text.Job, 1, stauts=0)


@needs_compiler
def test_an_index_outside_its_list_ends_a_checked_process(tmp_path):
    made(tmp_path, RECORDS, "beyond", defined=["CHECKED"])
    code = f"""
import ctypes, sys
sys.path[:0] = {[str(tmp_path), *sys.path]!r}
import text
from ioopt.compiled.memory import Machine

make = Machine(ctypes.CDLL({str(tmp_path / "libtext.so")!r}))
jobs = make.records(text.Job, 3, seconds=[1.0, 2.0, 3.0])
tally = make.records(text.Tally, 1)[0]
world = make.table(text.World, jobs=jobs, order=make.ints([0]), tally=tally)
beyond = make.function(text.beyond)
print(beyond(world, 2), flush=True)
beyond(world, -1)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ran.stdout == "3.0\n" and "index -1 of 3" in ran.stderr


@needs_compiler
@pytest.mark.parametrize("name", ["jobs", "order", "tally"])
def test_a_table_refuses_what_is_of_another_type(tmp_path, name):
    """C would read floats as whole numbers."""
    text, c = made(tmp_path, RECORDS, "serve")
    make = Machine(c)
    given = {
        "jobs": make.records(text.Job, 1),
        "order": make.ints([0]),
        "tally": make.records(text.Tally, 1)[0],
    }
    make.table(text.World, **given)
    for wrong in (make.floats([0.0]), [1], make.records(text.Job, 1)[0]):
        with pytest.raises(TypeError, match=f"World.{name}: not of "):
            make.table(text.World, **given | {name: wrong})
    del given[name]
    with pytest.raises(TypeError, match=f"World.{name}: not of "):
        make.table(text.World, **given)


@needs_compiler
def test_numbers_that_c_cannot_hold_are_refused(tmp_path):
    """ctypes would cut them in silence."""
    text, c = made(tmp_path, RECORDS, "serve")
    make = Machine(c)
    given = {
        "jobs": make.records(text.Job, 1),
        "order": make.ints([0]),
        "tally": make.records(text.Tally, 1)[0],
    }
    with pytest.raises(OverflowError):
        make.ints([1 << 63])
    with pytest.raises(OverflowError, match=r"World\.most: 9223372036854775808 is too"):
        make.table(text.World, most=1 << 63, **given)
    with pytest.raises(OverflowError, match=r"Job\.state: 1\.5 is too large"):
        make.records(text.Job, 2, state=[1, 1.5])
    for one in (make, Plain()):
        with pytest.raises(ValueError, match=r"Job\.state: not 2 values"):
            one.records(text.Job, 2, state=[1])
    with pytest.raises(OverflowError, match=r"Job\.state: 128 is too large"):
        make.records(text.Job, 2, state=[127, 128])
    frozen = np.arange(3)
    frozen.flags.writeable = False
    copied = make.ints(frozen)
    copied[0] = 5
    assert list(copied) == [5, 1, 2] and frozen[0] == 0


FUNCTIONS = """
from collections.abc import Callable
from dataclasses import dataclass

from ioopt.compiled.text import in_c


@dataclass(slots=True)
class Store:
    size: int
    order: list[int]


Rule = Callable[[Store, list[float]], None]


def doubled(store: Store, rates: list[float]) -> None:
    for k in store.order:
        rates[k] = 2.0 * store.size


def halved(store: Store, rates: list[float]) -> None:
    for k in range(len(rates)):
        rates[k] = rates[k] / 2 + k


def by_swaps(keys: list[float], order: list[int]) -> None:
    for place in range(len(order)):
        at = place
        while at > 0 and keys[order[at]] < keys[order[at - 1]]:
            order[at], order[at - 1] = order[at - 1], order[at]
            at -= 1


@in_c(by_swaps)
def sort(keys: list[float], order: list[int]) -> None:
    order[:] = sorted(order, key=keys.__getitem__)


def decide(store: Store, rates: list[float], rule: Rule, times: int) -> float:
    for _ in range(times):
        rule(store, rates)
    sort(rates, store.order)
    return rates[store.order[0]]
"""


@needs_compiler
@pytest.mark.parametrize(
    ("rule", "rates", "order"),
    [
        # Twice 7 for two of them, which stay in order.
        ("doubled", [14.0, 1.0, 14.0], [2, 0]),
        # 2 -> 1 -> .5; 1 -> 1.5 -> 1.75; 3 -> 3.5 -> 3.75
        ("halved", [0.5, 1.75, 3.75], [0, 2]),
    ],
)
def test_a_function_can_be_a_parameter_and_be_replaced_in_c(
    tmp_path, rule, rates, order
):
    text, library = made(tmp_path, FUNCTIONS, "decide", "doubled", "halved")
    for make in (Plain(), Machine(library)):
        store = make.table(text.Store, size=7, order=make.ints([2, 0]))
        found = make.floats([2.0, 1.0, 3.0])
        decide = make.function(text.decide)
        least = decide(store, found, make.function(getattr(text, rule)), 2)
        assert (least, list(found), list(store.order)) == (
            rates[order[0]],
            rates,
            order,
        )
        # A list can also be passed from Python.
        make.function(text.halved)(store, found)
        assert found[0] == rates[0] / 2


@needs_compiler
def test_only_functions_of_ioopt_are_taken_for_compiled(tmp_path):
    """A function of a user may have the name of one that was compiled."""
    text, library = made(tmp_path, FUNCTIONS, "doubled")
    make = Machine(library)
    assert not make.has(text.doubled) and Plain().has(text.doubled)
    text.doubled.__module__ = "ioopt.text"
    assert not make.has(text.doubled)  # in C it is text_doubled
    assert not make.has(lambda store, rates: None)


TABLE = """
from collections.abc import Callable
from dataclasses import dataclass

FIRST = 3


def twice(a: int) -> int:
    return 2 * a


def less(a: int) -> int:
    return a - FIRST


@dataclass(frozen=True)
class Move:
    name: str
    share: int
    make: Callable[[int], int]


MOVES = (
    Move("double", 3, twice),
    Move("lessen", FIRST - 1, make=less),
)


def chosen(kind: int, a: int) -> int:
    for move in MOVES:
        kind -= move.share
        if kind < 0:
            return move.make(a)
    return -1


def all_of(a: int) -> int:
    for move in MOVES:
        for _ in range(move.share):
            a = move.make(a)
    return a
"""


@needs_compiler
def test_a_loop_over_a_table_takes_every_row(tmp_path):
    text, library = made(tmp_path, TABLE, "chosen", "all_of")
    answers = [text.chosen(kind, 10) for kind in range(6)]
    assert answers == [20, 20, 20, 7, 7, -1]
    assert [library.text_chosen(kind, 10) for kind in range(6)] == answers
    assert library.text_all_of(10) == text.all_of(10) == 74


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("break", "break and continue have no translation here"),
        ("a = move.shares", "a row has no shares"),
        ("a = move.name", "a Constant has no translation"),
    ],
)
def test_a_loop_over_a_table_is_refused_with_its_line(tmp_path, body, message):
    loop = "def f(a: int) -> int:\n    for move in MOVES:\n"
    (tmp_path / "text.py").write_text(f"{TABLE}\n\n{loop}        {body}\n    return a")
    with pytest.raises(TextError, match=r"text\.py:\d+: ") as refused:
        translate(tmp_path, ["text:f"])
    assert message in str(refused.value)


HEAD = """
from dataclasses import dataclass


@dataclass
class Job:
    seconds: float
    node: int


@dataclass
class World:
    jobs: list[Job]
    best: Job


def f(w: World, a: int, x: float) -> int:
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return x", "a float where a int is wanted"),
        ("a = x", "a float where a int is wanted"),
        ("b = 0\n    b = x\n    return b", "write the first value with that type"),
        ("w.best = w.jobs[0]", "cannot be stored; assign its numbers"),
        ("w.jobs[0] = w.best", "cannot be stored; assign its numbers"),
        ("w.jobs[0].stauts = 2", "has no field stauts"),
        ("return b", "b is neither a variable that has a value nor a number"),
        ("return a or 5", "would return a int; compare it"),
        ("return a ** 2", "a power of whole numbers"),
        ("return a if x else w", "take one type"),
        ("return a in (1, 2)", "is and in have no translation"),
        ("return a < g(a) < 3", "a call in a chain would be made twice"),
        ("w.jobs[len(w.jobs)].node += 1", "would be made twice"),
        (
            "for k in range(3):\n        a\n    else:\n        a = 1",
            "the else of a loop",
        ),
        ("for k in range(0, 3, a):\n        pass", "the step of a range is a constant"),
        ("for k in (1, 2):\n        pass", "a Tuple has no translation"),
        ("return sum(w.jobs)", "sum is no function of the text"),
        ("w.jobs.append(w.best)", "methods have no translation"),
        ("return a.bit_length()", "methods have no translation"),
        ("return int(x.bit_count())", "a float where a int is wanted"),
        ("raise ValueError", "a Raise has no translation"),
        ("try:\n        pass\n    finally:\n        pass", "a Try has no translation"),
        ("return [1][0]", "a List has no translation"),
        ("a + 1", "an expression without an effect"),
        ("return f(w, a)", "f needs x"),
        ("return f(w, a, x, 3)", "f has no such parameter"),
        ("return f(w, a, x, a=3)", "f gets a parameter twice"),
        ("a, x = 1, 2, 3", "the two sides have different lengths"),
        ("a, x = a", "the right side is no tuple of that length"),
        ("return w < 3", "a text_World cannot be compared"),
        ("if w:\n        pass", "is no condition; compare it"),
        ("return 'a'", "a Constant has no translation"),
        ("return x & 1", "of whole numbers only"),
        ("return", "the result is not of type int"),
        (
            "while w.best.node < f(w, a, x):\n        pass",
            "a call follows in the same condition",
        ),
        (
            "return int(a > 0 and w.best.node < f(w, a, x))",
            "a call follows in the same condition",
        ),
    ],
)
def test_what_has_no_translation_is_refused_with_its_line(tmp_path, body, message):
    text = f"{HEAD}    {body}\n"
    (tmp_path / "text.py").write_text(text)
    with pytest.raises(TextError, match=r"text\.py:\d+: ") as refused:
        translate(tmp_path, ["text:f"])
    assert message in str(refused.value)
    line = int(str(refused.value).split("text.py:")[1].split(":")[0])
    assert HEAD.count("\n") < line <= text.count("\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(a) -> int:\n    return 1\n", "f lacks an annotation"),
        ("def f(a: int):\n    return 1\n", "f lacks an annotation"),
        ("def f(a: str) -> int:\n    return 1\n", "str is no type of kernel text"),
        ("def f(*a: int) -> int:\n    return 1\n", "parameters that are not plain"),
        ("@other\ndef f(a: int) -> int:\n    return 1\n", "decorator other is not"),
        ("def g(a: int) -> int:\n    return 1\n", "there is no function f"),
        (
            "def f(a: Callable[..., int]) -> int:\n    return 1\n",
            "name the types of the parameters",
        ),
        (
            "def f(a: Callable[[int], int]) -> int:\n    return a(1, 2)\n",
            "this function takes 1 values in order",
        ),
        (
            "@in_c(other)\ndef g(a: int) -> int:\n    return 1\n\n\n"
            "def f(a: int) -> int:\n    return g(a)\n",
            "other is no function of the text",
        ),
        (
            "class A:\n    x: int\n\n\nclass B(A):\n    y: int\n\n\n"
            "def f(b: B) -> int:\n    return b.y\n",
            "B takes fields from another class",
        ),
        (
            "def f(a: int) -> int:\n    return a + 9223372036854775808\n",
            "9223372036854775808 has more than 64 bits",
        ),
    ],
)
def test_a_function_without_types_is_refused(tmp_path, text, message):
    (tmp_path / "text.py").write_text(text)
    with pytest.raises(TextError, match=message):
        translate(tmp_path, ["text:f"])


def test_constants_are_found_in_other_modules(tmp_path):
    (tmp_path / "rules.py").write_text("DAY = 24 * 3600\nHALF = DAY / 2\n")
    (tmp_path / "text.py").write_text(
        "import rules as at\nfrom rules import HALF as LEAST\n\n\n"
        "def f(a: int) -> float:\n    return max(at.DAY * a, LEAST)\n"
    )
    text = translate(tmp_path, ["text:f"])
    assert "#define rules_DAY 86400LL" in text and "#define rules_HALF 43200.0" in text
    assert "max_float((rules_DAY * a), rules_HALF)" in text
