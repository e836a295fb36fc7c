"""The page of a result: its numbers are those of the result, and it loads nothing."""

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from result_pages import Elements, data_of, opened

import ioopt
from ioopt.cli.main import main
from ioopt.errors import UsageError
from ioopt.pictures import page_of
from ioopt.plot.lanes import Wide, packed
from ioopt.plot.page import table
from ioopt.plot.result_page import MOST_BOXES, MOST_STEPS, Box, coarser, fewer
from ioopt.timeline import Interval
from ioopt.waits import may_wait, waits_of


@pytest.fixture(scope="module")
def forked() -> ioopt.Result:
    return ioopt.solve("flow-fork-join", "locality")


def panel(data: Any, title: str) -> Any:
    return next(panel for panel in data["panels"] if panel["title"] == title)


def test_each_task_is_one_box_at_its_times(forked: ioopt.Result) -> None:
    assert forked.schedule is not None
    plan = panel(data_of(page_of(forked)), "Plan, by node")
    shown = {}
    for kind, low, high, start, end, label, _, critical, _ in plan["boxes"]:
        if kind == "compute":
            row = plan["rows"][round(low + high / 2)]
            shown[label] = [row, pytest.approx(start), pytest.approx(end), critical]
    tasks = forked.schedule["tasks"]
    assert sum(box[0] == "compute" for box in plan["boxes"]) == len(tasks) == 20
    assert any(
        row["cores"] != sorted(set(range(row["cores"][0], row["cores"][-1] + 1)))
        for row in tasks
    ), "no task on cores that are apart"
    assert shown == {
        row["id"]: [
            row["node"],
            row["start_seconds"],
            row["end_seconds"],
            bool(row.get("critical")),
        ]
        for row in tasks
    }
    assert len(plan["boxes"]) == len(tasks) + len(forked.schedule["transfers"])
    assert len(plan["marks"]) == len(forked.schedule["evictions"])


def test_disks_and_links_are_those_of_the_schedule(forked: ioopt.Result) -> None:
    assert forked.schedule is not None
    data = data_of(page_of(forked))
    for name, disk in forked.schedule["disks"].items():
        shown = panel(data, f"Disk of {name}")
        assert shown["limit"] == disk["bytes"]
        (_, _, used), (_, _, live) = shown["series"]
        for steps, key in ((used, "used"), (live, "live")):
            assert len(steps) == len(disk[key])
            for (at, size), step in zip(steps, disk[key], strict=True):
                assert (at, size) == (pytest.approx(step[0]), step[1])
    links = panel(data, "Links: transfers at once")
    # The area under the steps is the time of all transfers of the kind.
    (saves,) = [item for item in links["series"] if item[0] == "file to remote storage"]
    area = sum(value * (until - at) for (at, value), (until, _) in pairwise(saves[2]))
    moves = forked.schedule["transfers"]
    assert area == pytest.approx(
        sum(
            row["end_seconds"] - row["start_seconds"]
            for row in moves
            if row["destination"] is None
        )
    )


def test_the_critical_path_is_a_chain_from_the_beginning(forked: ioopt.Result) -> None:
    assert forked.schedule is not None
    plan = panel(data_of(page_of(forked)), "Plan, by node")
    boxes = plan["boxes"]
    number = max(range(len(boxes)), key=lambda k: boxes[k][4])
    chain = []
    while number >= 0:
        chain.append(boxes[number])
        number = boxes[number][6]
    rows = [*forked.schedule["tasks"], *forked.schedule["transfers"]]
    critical = {row.get("id", row.get("file")) for row in rows if row.get("critical")}
    assert {box[5] for box in chain} == critical
    assert chain[-1][3] == 0
    for later, earlier in pairwise(chain):
        assert later[3] == pytest.approx(earlier[4])


def test_what_began_when_what_ended() -> None:
    """A task after an arrival rather than a task; a transfer after the task that made
    its file; nothing after what ended elsewhere or at another time.
    """
    items = [
        Interval(0, 4, "n0", "remote", "f", info={"source": None}),
        Interval(0, 4, "n0", "compute", "a"),
        Interval(0, 4, "n1", "compute", "elsewhere"),
        Interval(4, 6, "n0", "compute", "b"),
        Interval(6, 7, "n1", "copy", "g", info={"source": "n0"}),
        Interval(6, 8, "n1", "compute", "c"),
        Interval(7, 9, "n1", "remote", "h", info={"source": None}),
        Interval(8.5, 9, "n1", "compute", "d"),
    ]
    expected = [-1, -1, -1, 0, 3, -1, 4, -1]
    assert waits_of(items, may_wait) == expected
    # The critical path has its own answer.
    items[1] = replace(items[1], info={"critical": 1})
    items[3] = replace(items[3], info={"critical": 1})
    assert waits_of(items, may_wait) == [-1, -1, -1, 1, 3, -1, 4, -1]


def test_a_long_table_shows_its_beginning_and_its_end() -> None:
    """Of 20 rows, 8 at each end are shown, and 4 are opened by a box; 17 are few."""
    found = Elements(table(["k"], [[f"r{k}"] for k in range(20)], True, 8))
    rows = [names.get("class") for tag, names in found.elements if tag == "tr"]
    assert rows == [*[None] * 9, "fold", *["more"] * 4, *[None] * 8]
    assert any(text.strip() == "... 4 more" for text in found.texts)
    few = Elements(table(["k"], [[f"r{k}"] for k in range(17)], True, 8))
    assert not any(attributes.get("class") == "more" for _, attributes in few.elements)


def test_names_of_users_cannot_become_elements_or_scripts(forked: ioopt.Result) -> None:
    assert forked.schedule is not None
    bad = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    schedule = json.loads(
        json.dumps(forked.schedule).replace('"join1"', json.dumps(bad))
    )
    page = Elements(page_of(forked.model_copy(update={"schedule": schedule})))
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert "img" not in [tag for tag, _ in page.elements]
    plan = panel(json.loads(page.scripts[0]), "Plan, by node")
    assert bad in [box[5] for box in plan["boxes"]]
    assert any(text.startswith(bad) for text in page.texts)  # in the critical path


def test_the_page_loads_nothing(forked: ioopt.Result) -> None:
    page = Elements(page_of(forked))
    policy = [
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy and policy[0].startswith("default-src 'none'")
    for _, attributes in page.elements:
        assert "src" not in attributes
        assert attributes.get("href") in (None, "data:,")
    assert "innerHTML" not in page.scripts[1] and "fetch(" not in page.scripts[1]


def test_the_page_of_a_huge_plan_stays_below_a_megabyte(forked: ioopt.Result) -> None:
    tasks, transfers = [], []
    for k in range(3_000):
        start, node = 10.0 * (k // 30), f"node-{k % 30}"
        times = {"start_seconds": start + 2.0, "end_seconds": start + 9.5 - k % 7}
        tasks.append({"id": f"a-task-{k}", "node": node, "cores": [0], **times})
        times = {"start_seconds": start, "end_seconds": start + 2.0}
        for part in "ab":
            name = f"file-{k}.{part}"
            transfers.append(
                {"file": name, "source": None, "destination": node, **times}
            )
    schedule = {"tasks": tasks, "transfers": transfers, "evictions": []}
    text = page_of(forked.model_copy(update={"schedule": schedule}))
    assert len(text.encode()) < 1_000_000
    plan = panel(data_of(text), "Plan, by node")
    assert len(plan["boxes"]) == MOST_BOXES
    assert plan["note"] == ("3000 of 9000 boxes are left out, of at most 2 s each.")


def test_fewer_boxes_wait_for_those_that_are_left() -> None:
    boxes = [
        Box("io", 0.0, 1.0, k, k + 1.0 + (k == 0), "x", k - 1) for k in range(6001)
    ]
    kept, words = fewer(boxes)
    assert len(kept) == MOST_BOXES and words
    assert all(box.waits == k - 1 for k, box in enumerate(kept))
    steps = [(float(k), float(k % 10)) for k in range(MOST_STEPS * 4)]
    assert len(coarser(steps)) <= MOST_STEPS + 1
    assert coarser(steps)[-1] == steps[-1]
    assert max(value for _, value in coarser(steps)) == 9


def test_bandwidth_on_the_page_moves_all_bytes() -> None:
    result = ioopt.solve("small-8", "fill")
    assert result.schedule is not None
    shown = panel(data_of(page_of(result)), "Bandwidth of the storage, by job")
    assert shown["limit"] == result.schedule["storage_bytes_per_second"]
    moved = 0.0
    for _, _, steps in shown["series"]:
        moved += sum(rate * (end - at) for (at, rate), (end, _) in pairwise(steps))
    rates = [
        (end - start) * rate
        for job in result.schedule["jobs"]
        for phase in job["io"]
        for start, end, rate in phase["rates"]
    ]
    assert moved == pytest.approx(sum(rates))
    bare = ioopt.solve("small-8", "fill", settings={"rates": "no"})
    (jobs,) = [item for item in data_of(page_of(bare))["panels"] if "rows" in item]
    assert "solve again with --set rates=yes" in jobs["note"]


def test_plot_writes_a_page_without_matplotlib(
    tmp_path: Any, monkeypatch: Any, forked: ioopt.Result
) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.collections"):
        monkeypatch.setitem(sys.modules, name, None)
    source, page = str(tmp_path / "r.json"), tmp_path / "p.html"
    forked.save(source)
    assert main(["plot", source, "-o", str(page)]) == 0
    until = data_of(page.read_text("utf-8"))["axes"]["time"]["until"]
    assert until == pytest.approx(forked.metrics["makespan_seconds"])
    with pytest.raises(UsageError, match="no schedule"):
        page_of(forked.model_copy(update={"schedule": None}))


def test_packed_spans_share_no_lane() -> None:
    state = 7
    spans = []
    for _ in range(60):
        draws = []
        for _ in range(3):
            state = state * 48271 % 2147483647
            draws.append(state)
        start = float(draws[0] % 40)
        spans.append(Wide(start, start + 1 + draws[1] % 9, 1 + draws[2] % 4))
    first, lanes = packed(spans)
    assert (
        max(low + span.width for low, span in zip(first, spans, strict=True)) == lanes
    )
    for k, one in enumerate(spans):
        for j, other in enumerate(spans[:k]):
            if one.start < other.end and other.start < one.end:
                low, high = sorted(((first[k], one.width), (first[j], other.width)))
                assert low[0] + low[1] <= high[0]
    # Placed by their starts alone, these need four lanes, though three are enough.
    tight = [Wide(0, 2, 1), Wide(0, 1, 1), Wide(0, 2, 1), Wide(1, 2, 1)]
    assert packed(tight).lanes == 3


PROBE = """<script>
const chart = document.querySelector("svg"), place = chart.getBoundingClientRect();
const boxes = () => [...document.querySelectorAll("rect[data-box]")];
const told = box => panels[0].data.boxes[box.dataset.box];
const found = {boxes: boxes().length};
found.signs = [...document.querySelectorAll("section:first-child .key i")]
  .map(sign => sign.getAttribute("style") + sign.textContent);
const lines = [...chart.querySelectorAll("path")], first = boxes()[0];
found.arrows = lines.length;
found.over = lines.filter(line =>
  first.compareDocumentPosition(line) !== Node.DOCUMENT_POSITION_PRECEDING).length;
const at = {clientX: place.left + 300, clientY: place.top + 20, bubbles: true};
chart.dispatchEvent(new WheelEvent("wheel", {...at, ctrlKey: true, deltaY: -100}));
found.wheel = [...views.time];
document.querySelector("button[data-key='+']").click();
found.button = [...views.time];
found.fewer = boxes().length;
chart.dispatchEvent(new PointerEvent("pointerdown", {...at, buttons: 1}));
at.clientX -= 100;
chart.dispatchEvent(new PointerEvent("pointermove", {...at, buttons: 1}));
found.drag = [...views.time];
chart.dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
found.all = [...views.time];
const box = boxes().find(box => told(box)[5] === "work1.5");
box.dispatchEvent(new PointerEvent("pointermove", {bubbles: true}));
found.tip = document.getElementById("tip").textContent;
found.chain = boxes().filter(box => box.classList.contains("chain")).map(told)
  .map(box => box[5]);
document.body.dataset.found = JSON.stringify(found);
</script></body>"""
"""Acts on a page as a reader would, and stores what came of it in the page."""


@pytest.mark.slow
def test_a_reader_zooms_moves_and_points(tmp_path: Path, forked: ioopt.Result) -> None:
    page = tmp_path / "page.html"
    page.write_text(page_of(forked).replace("</body>", PROBE))
    elements = Elements(opened(page, tmp_path / "profile")).elements
    (body,) = (attributes for tag, attributes in elements if tag == "body")
    found = json.loads(body["data-found"] or "")
    assert found["boxes"] == 42  # 20 tasks and 22 transfers
    assert found["arrows"] and not found["over"]  # none crosses the name in a box
    assert len(set(found["signs"])) == len(found["signs"]) >= 4
    until = forked.metrics["makespan_seconds"]
    assert found["all"] == pytest.approx([0, 1.02 * until])
    spans = [
        found[key][1] - found[key][0] for key in ("all", "wheel", "button", "drag")
    ]
    assert spans == pytest.approx([spans[0] * share for share in (1, 0.8, 0.4, 0.4)])
    assert found["drag"][0] > found["button"][0] and found["fewer"] < 42
    assert found["tip"].startswith("work1.5: computing\nn3\n")
    assert "began when this ended: split1.5 (file from another node)" in found["tip"]
    assert {"raw", "split0", "work0.4", "join0", "split1", "work1.5"} < set(
        found["chain"]
    )
