"""The one reader of rows and numbers that logs and traces share."""

import pytest

from ioopt.errors import InstanceError
from ioopt.formats.job_times import span_of
from ioopt.formats.nextflow.trace import bytes_of, seconds_of
from ioopt.formats.pbs import fields_of
from ioopt.formats.rows import (
    BadRow,
    amount_of,
    cells_by_column,
    lines_of,
    number_of,
    read_rows,
    table,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8),
        ("-1", -1),
        ("+3", 3),
        ("2.50", 2.5),
        (" 7 ", 7),
        ("1e3", 1000),
        (".5", 0.5),
        ("1,024", 1024),
        ("-12,345,678.5", -12345678.5),
    ],
)
def test_a_number_is_read_whole(text: str, value: float) -> None:
    assert number_of(text, "size") == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "8K",
        "1_000",
        "1 024",
        "1'024",
        "1,02",
        "1,5",
        "1,024,5",
        "10,24,000",
        ",024",
        "1.024,5",
        "0x10",
        "nan",
        "inf",
        "1e999",
        "--1",
        "3s",
        "1,024K",
    ],
)
def test_or_not_at_all(text: str) -> None:
    with pytest.raises(BadRow, match="size"):
        number_of(text, "size")


def test_an_amount_has_limits() -> None:
    assert amount_of("0", "size") == 0 and amount_of("10", "size", 10) == 10
    for text, why in (("-1", "negative"), ("11", "above 10")):
        with pytest.raises(BadRow, match=f"size '{text}' is {why}"):
            amount_of(text, "size", 10)


def test_only_line_feeds_end_a_line() -> None:
    assert lines_of("a\x0bb\r\nc\u2028d\x85\n") == ["a\x0bb", "c\u2028d\x85", ""]
    assert lines_of("a\rb") == ["a", "b"]


def test_cells_by_column() -> None:
    assert cells_by_column(["a", "b", "a"], ["1", "2", "1"]) == {"a": "1", "b": "2"}
    for cells in (["1"], ["1", "2", "3"]):
        with pytest.raises(BadRow, match=f"{len(cells)} cells, but the heading has 2"):
            cells_by_column(["a", "b"], cells)
    with pytest.raises(BadRow, match="two columns 'a' that differ"):
        cells_by_column(["a", "a"], ["1", "2"])


@pytest.mark.parametrize("mark", "\t;,")
def test_a_table_of_any_separator(mark: str) -> None:
    text = "\n a|b \r\n1|2\n\n|\na|b\n3|4".replace("|", mark)
    columns, rows = table(text, "t", ("a",))
    assert columns == ["a", "b"] and list(rows) == [(3, ("1", "2")), (7, ("3", "4"))]
    with pytest.raises(InstanceError, match=r"t: line 2: column 'c' is missing"):
        table(text, "t", ("c",))


def numbered(*words: str) -> list[tuple[int, str]]:
    return list(enumerate(words, 1))


def whole(word: str) -> int | None:
    return None if word == "step" else int(amount_of(word, "size"))


def test_rows_are_read_counted_and_left_out() -> None:
    words = ("1", "step", "x", "2", "1", "-5", "y", "step")
    with pytest.raises(InstanceError) as told:
        read_rows(numbered(*words), whole, "log")
    assert str(told.value) == (
        "log: line 3: size 'x' is not a number; --skip-bad leaves out such rows"
    )
    # 6 rows that count: steps are of no interest; 3 of them are bad
    with pytest.raises(InstanceError) as told:
        read_rows(numbered(*words), whole, "log", 0.49)
    assert str(told.value) == (
        "log: 3 of 6 rows cannot be read, more than 49 %: line 3: size 'x' is not a "
        "number; line 6: size '-5' is negative; --skip-bad 0.5 allows that"
    )
    assert read_rows(numbered(*words), whole, "log", 0.5) == (
        [1, 2],
        [
            "2 of 6 rows left out, size is not a number: line 3, 7",
            "1 of 6 rows left out, size is negative: line 6",
            "1 repeated row counted once: line 5",
        ],
    )
    assert read_rows(numbered("1", "1"), whole, "log", key=lambda word: None) == (
        [1, 1],
        [],
    )
    assert read_rows([], whole, "log", 0.05) == ([], [])


def test_the_share_that_a_message_names_is_enough() -> None:
    """.29 * 100 is 28.999999999999996 as floats."""
    rows = numbered(*["x"] * 29, *map(str, range(71)))
    with pytest.raises(InstanceError, match=r"--skip-bad 0\.29 allows that"):
        read_rows(rows, whole, "log", 0.05)
    assert len(read_rows(rows, whole, "log", 0.29)[0]) == 71
    with pytest.raises(InstanceError, match="29 of 100 rows"):
        read_rows(rows, whole, "log", float("nan"))


@pytest.mark.parametrize("what", [seconds_of, bytes_of, span_of, fields_of])
def test_long_cells_are_read_or_refused_at_once(what) -> None:
    """A number of 100,000 digits, and as many blanks between a number and no unit."""
    many = 100_000
    for text in (
        "1" * many,
        "1d" + " " * many + "x",
        "1" + " " * many + "x",
        "1:" * many,
    ):
        refusal = ""
        value = None
        try:
            value = what(text, "cell")
        except BadRow as error:
            refusal = str(error)
        assert len(refusal) < 200 and bool(refusal) is (value is None)
