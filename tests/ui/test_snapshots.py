"""How it looks, pixel by pixel, from fixed data: `pytest tests/ui --snapshot-update` after a wanted change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tcptutor.course import load
from tcptutor.course.activity import MarkContext, text_id
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
from tcptutor.run import Run
from tcptutor.runs.conduct import finish
from tcptutor.ui.screens.base import WIDE
from tests.chosen import chosen
from tests.journal.conftest import predict

from . import test_check, test_shape
from .fakes import GUEST, recorded, swept
from .four_modules import four_modules
from .made import MODULE, one_page
from .screen import settled, until_text

EXAMPLES = Path(__file__).parents[1] / "course" / "examples"

SIZES = [(80, 24), (120, 36)]


@pytest.fixture(autouse=True)
def _same_student(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices and events are in the same order in every run."""
    monkeypatch.setattr(Journal, "identity", "a student")


def keep_run(journal: Journal, course: Course, module: str, step: str) -> Run:
    """A finished run of that step, as the journal has it from an earlier day."""
    found = next(each for each in course.modules if each.id == module)
    used = next(each.experiment for each in found.steps if each.id == step)
    assert used is not None
    run = msgspec.structs.replace(
        recorded(used.experiment),
        id="r1",
        experiment=used.experiment,
        environment=GUEST,
        started="2026-01-01T00:00:00+00:00",
        wall_s=9.4,
    )
    journal.begin_run(run, module, step)
    journal.finish_run(run, finish(run, journal.runs)[0])
    journal.visit(module, step)
    return run


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_home(snap_compare: Any, make_app: Any, size: tuple[int, int]) -> None:
    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await until_text(pilot, "Press Enter to begin")
        await settled(pilot)

    assert snap_compare(make_app(), terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_home_with_four_modules(
    snap_compare: Any, make_app: Any, journal: Journal, size: tuple[int, int]
) -> None:
    for page in range(1, 13):
        journal.visit("basics", f"page-{page}")
    for page in range(1, 8):
        journal.visit("algorithms", f"page-{page}")

    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await pilot.press("down", "down", "down")
        await until_text(pilot, "Enter begins 3 Parallel streams")
        await settled(pilot)

    assert snap_compare(make_app(of=four_modules()), terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_lesson_with_a_finished_run(
    snap_compare: Any, make_app: Any, journal: Journal, course: Course, size: tuple[int, int]
) -> None:
    predict(journal, "10 Mbit/s", 10e6, "one-flow", "one-lossy-flow")
    journal.respond(
        "one-flow", "one-lossy-flow", "limit", Response((text_id("The link of 100 Mbit/s"),), False)
    )
    keep_run(journal, course, "one-flow", "one-lossy-flow")

    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await until_text(pilot, "why: random loss" if size[0] >= WIDE else "measured 22.1 Mbit/s")
        await settled(pilot)

    assert snap_compare(make_app("one-flow"), terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_eight_flows_and_their_mean(
    snap_compare: Any, make_app: Any, journal: Journal, course: Course, size: tuple[int, int]
) -> None:
    keep_run(journal, course, "many-flows", "eight-flows")

    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        if size[0] < WIDE:
            await until_text(pilot, "measured 76 Mbit/s")
            await pilot.press("c")  # the chart
        await until_text(pilot, "why: random loss")
        await settled(pilot)

    assert snap_compare(make_app("many-flows"), terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_an_order_and_a_value_that_was_read_off(
    snap_compare: Any, make_app: Any, journal: Journal, size: tuple[int, int]
) -> None:
    examples = load(EXAMPLES)
    where = "own-run", "a-loss"
    run = keep_run(journal, examples, *where)
    _, observe, order, read_off, _ = examples.modules[0].steps[0].activities
    assert order.mark(chosen(order, 0, 1, 3, 2)).correct is False
    journal.respond(*where, order.id, Response(chosen(order, 0, 1, 3, 2), False))
    for answered in (observe, read_off):
        right = answered.reference(MarkContext(run=run)).right
        journal.respond(*where, answered.id, Response(right, True))

    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await until_text(pilot, "why: random loss" if size[0] >= WIDE else "measured 22.1 Mbit/s")
        # The page scrolls from where the text after the run has left it.
        await settled(pilot)
        # Down to the order, which is the first thing that can be done here.
        await pilot.press("tab")
        await until_text(pilot, "✗ Not yet.")
        await settled(pilot)

    app = make_app("own-run", of=examples)
    assert snap_compare(app, terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_finished_sweep(snap_compare: Any, make_app: Any, journal: Journal, size: tuple[int, int]) -> None:
    examples, where = load(EXAMPLES), ("a-curve", "window-and-link")
    predict(journal, "25 kB", 25_000, *where)
    for number, run in enumerate(swept()):
        kept = msgspec.structs.replace(
            run, id=f"r{number}", environment=GUEST, started="2026-01-01T00:00:00+00:00"
        )
        journal.begin_run(kept, *where)
        journal.finish_run(kept, finish(kept, journal.runs)[0])

    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        if size[0] < WIDE:
            await until_text(pilot, "✓ throughput against window, 6 runs")
            await pilot.press("c")  # the chart
        await until_text(pilot, "✓ 6 runs")
        await until_text(pilot, "knee: measured at 20 kB")
        await settled(pilot)

    assert snap_compare(make_app("a-curve", of=examples), terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_prediction_of_a_shape(snap_compare: Any, make_app: Any, size: tuple[int, int]) -> None:
    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await pilot.press("3")
        await until_text(pilot, "3: It climbs in stairs.")
        await settled(pilot)

    assert snap_compare(make_app(MODULE, of=test_shape.PAGE), terminal_size=size, run_before=ready)


def test_the_check_at_a_modules_end(snap_compare: Any, make_app: Any) -> None:
    # Without the question that draws numbers: each student has others.
    page = one_page(*test_check.QUESTIONS[2:])

    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "1 of 6 right")
        await pilot.press("tab")
        await until_text(pilot, "Enter answers")
        await settled(pilot)

    assert snap_compare(make_app(MODULE, of=page), terminal_size=(80, 24), run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_bench_before_a_run(snap_compare: Any, make_app: Any, size: tuple[int, int]) -> None:
    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await pilot.press("e")
        await until_text(pilot, "expected 23.2 Mbit/s")
        await pilot.press("tab", "tab", "right")
        await until_text(pilot, "expected 16.2 Mbit/s")
        await settled(pilot)

    assert snap_compare(make_app(), terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_bench_with_a_run_beside_settings_that_cannot_be_run(
    snap_compare: Any, make_app: Any, journal: Journal, course: Course, size: tuple[int, int]
) -> None:
    keep_run(journal, course, "one-flow", "one-lossy-flow")

    async def ready(pilot: Any) -> None:
        await until_text(pilot, "ready")
        await pilot.press("e")
        await until_text(pilot, "expected 23.2 Mbit/s")
        await pilot.press("c")
        await until_text(pilot, "[ ]")
        await pilot.press("enter")
        await until_text(pilot, "[x]")
        await pilot.press("escape", "right", "down", "down")
        await until_text(pilot, "22.1 Mbit/s, random loss: rate 100 Mbit/s")
        await pilot.press("enter", *["backspace"] * 8, "9", "s", "enter")
        await until_text(pilot, "these settings cannot be run")
        await settled(pilot)

    assert snap_compare(make_app(), terminal_size=size, run_before=ready)
