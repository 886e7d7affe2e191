"""Polls on the stage: joining, voting, and results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, ClassVar

import pytest
from rich.color import Color
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget

from tcptutor.room.talk import AudienceView, MarkedValue, PollView, Tally
from tcptutor.ui import themes
from tcptutor.ui.frame import START_STYLES
from tcptutor.ui.present import large_text
from tcptutor.ui.present.poll_views import HistogramView, JoinView, PollWidget, ResultsView, VotingView
from tcptutor.ui.present.stage_app import STAGE_STYLES
from tcptutor.ui.present.stage_canvas import StageCanvas

from ..screen import settled, text

ADDRESS = "http://192.168.178.120:8765/KX7R4T"
AUDIENCE = AudienceView(address=ADDRESS, code="KX7R4T", joined=151)
CHOICES = ("It halves", "It stays the same, since the link is not full", "It doubles")
QUESTION = "You move the receiver farther away, so that the RTT is **80 ms**. What happens to the throughput?"
SIZES = [(80, 24), (120, 36), (200, 50)]


class OneView(App[None]):
    """A view alone, in a theme of ours."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [START_STYLES, STAGE_STYLES]

    def __init__(self, view: Widget, theme: str = "dark") -> None:
        super().__init__()
        self._view = view
        for look in themes.LOOKS.values():
            self.register_theme(look.theme)
        self.theme = themes.LOOKS[theme].theme.name

    def compose(self) -> ComposeResult:
        self._view.styles.width = self._view.styles.height = "1fr"
        yield self._view


async def shown(view: Widget, size: tuple[int, int]) -> str:
    app = OneView(view)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        return text(app)


def _lightness(color: Color) -> int:
    return sum(color.get_truecolor()) // 3


def _pixels(app: App[Any]) -> list[bytes]:
    """The screen as a picture of four pixels for each half cell, from its colors."""
    rows = []
    for strip in app.screen._compositor.render_strips():
        upper, lower = bytearray(), bytearray()
        for segment in strip:
            assert segment.style and segment.style.bgcolor
            ground = _lightness(segment.style.bgcolor)
            ink = _lightness(segment.style.color or segment.style.bgcolor)
            for character in segment.text:
                upper += bytes([ink if character in "▀█" else ground] * 4)
                lower += bytes([ink if character in "▄█" else ground] * 4)
        rows += [bytes(upper)] * 4 + [bytes(lower)] * 4
    return rows


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_phone_reads_the_address_from_the_screen(size: tuple[int, int], theme: str) -> None:
    import zxingcpp

    app = OneView(JoinView(AUDIENCE), theme)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        rows = _pixels(app)
        picture = memoryview(b"".join(rows)).cast("B", (len(rows), len(rows[0])))
    # Not every phone reads light on dark.
    found = zxingcpp.read_barcodes(picture, try_invert=False)
    assert [each.text for each in found] == [ADDRESS]


async def test_joining_works_without_a_qr_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "segno", None)
    screen = await shown(JoinView(AUDIENCE), (80, 24))
    assert "192.168.178.120:8765/KX7R4T" in screen
    assert "pip install" in screen


async def test_an_address_of_this_computer_alone_has_no_qr_code() -> None:
    screen = await shown(
        JoinView(AudienceView(address="http://127.0.0.1:8765/KX7R4T", code="KX7R4T")), (80, 24)
    )
    assert "--listen" in screen


async def test_votes_that_are_off_say_why() -> None:
    assert "no network" in await shown(JoinView(AudienceView(problem="no network")), (80, 24))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("phase", ["voting", "counted", "discussing", "voting again"])
async def test_an_open_vote_shows_all_choices_and_the_number_of_answers(
    size: tuple[int, int], phase: Any
) -> None:
    # Without a glyph for ∛ the texts are in ordinary letters.
    choices = tuple(f"{choice} ∛" for choice in (*CHOICES, *CHOICES[1:]))
    poll = PollView(activity="q", text=f"{QUESTION} ∛", choices=choices, phase=phase, answered=87)
    drawn = await shown(VotingView(poll, AUDIENCE), size)
    screen = " ".join(drawn.split())
    for words in ("the RTT is 80 ms", "It halves", "since the link is not full"):
        assert words in screen
    answered = "of 151 answered"
    assert answered in screen or all(row.rstrip() in drawn for row in large_text.draw(answered, 2))


def _lengths(screen: str) -> list[list[int]]:
    """Lengths of the bars in each line that has bars only."""
    lines = [line.split("%")[:-1] for line in screen.splitlines() if "%" in line]
    return [[part.count("█") for part in line] for line in lines]


async def test_results_of_both_rounds_are_side_by_side() -> None:
    tallies = (Tally(counts=(20, 60, 20), answered=100), Tally(counts=(100, 0, 0), answered=100))
    poll = PollView(
        activity="q", text=QUESTION, choices=(*CHOICES,), phase="revealed", results=tallies, right=0
    )
    # At this height a bar is one line.
    screen = await shown(ResultsView(poll), (100, 11))
    first, second = zip(*_lengths(screen), strict=True)
    assert first[1] == pytest.approx(3 * first[0], abs=2) and first[0] == first[2]
    assert second[0] > 1.5 * first[1] and second[1:] == (0, 0)
    assert screen.count("✓") == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda: ResultsView(PollView(activity="q", text="?", choices=CHOICES, phase="revealed")),
        lambda: ResultsView(
            PollView(
                activity="q", text="?", choices=CHOICES, phase="revealed", results=(Tally(counts=(0, 0, 0)),)
            )
        ),
        lambda: HistogramView(PollView(activity="q", text="?", unit="rate", phase="revealed")),
    ],
)
async def test_a_poll_without_answers_says_so(view: Callable[[], Widget]) -> None:
    assert "Nobody" in await shown(view(), (80, 24))


TALLIES = (Tally(values=(2e6, 9e6, 9e6, 40e6), answered=4), Tally(values=(8e6, 9e6, 10e6), answered=3))
MODELS = (MarkedValue("Mathis", 9.3e6, 0.2), MarkedValue("the link's rate", 38e6))


@pytest.mark.parametrize("size", [(76, 18), (114, 29), (194, 43)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    "view",
    [
        JoinView(AUDIENCE),
        VotingView(PollView(activity="q", text=QUESTION, choices=CHOICES), AUDIENCE),
        ResultsView(
            PollView(
                activity="q",
                text=QUESTION,
                choices=CHOICES,
                results=(Tally(counts=(3, 0, 1), answered=4), Tally(counts=(4, 0, 0), answered=4)),
            )
        ),
        HistogramView(
            PollView(activity="p", text="?", unit="rate", results=TALLIES, models=MODELS, measured=9e6)
        ),
    ],
    ids=lambda view: type(view).__name__,
)
def test_text_that_the_terminal_scales_has_its_cells_for_itself(
    view: PollWidget, size: tuple[int, int]
) -> None:
    canvas = StageCanvas(*size, is_scaled=True)
    view.draw(canvas)
    assert canvas.scaled
    taken: set[tuple[int, int]] = set()
    for each in canvas.scaled:
        cells = {(each.column + x, each.row + y) for x in range(each.width) for y in range(each.scale)}
        assert not cells & taken, each
        assert all(canvas.at(*cell)[0] == " " for cell in cells), each
        taken |= cells


async def _still(pilot: Pilot[Any]) -> None:
    await settled(pilot)


def test_looks_of_a_histogram(snap_compare: Any) -> None:
    """Key figures at least three cells high, bars, models' bands, and the measurement."""
    guesses = [3, 5, 5, 8, 8, 8, 9, 10, 10, 10, 10, 12, 12, 15, 20, 20, 30, 35, 38, 40, 40, 40, 40, 100]
    values = tuple(1e6 * each for each in guesses)
    poll = PollView(
        activity="p",
        text="How fast?",
        unit="rate",
        phase="revealed",
        results=(Tally(values=values, answered=len(values)),),
        models=(MarkedValue("Mathis", 9.35e6, 0.21), MarkedValue("the link's rate", 38.2e6, 0.03)),
        measured=8.96e6,
    )
    assert snap_compare(OneView(HistogramView(poll)), terminal_size=(120, 36), run_before=_still)
