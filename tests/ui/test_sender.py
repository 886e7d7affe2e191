"""You are the sender: the instant is drawn from the student's run, and the kernel's response follows the answer."""

from __future__ import annotations

from tcptutor.course.activities.sender_question import SenderMove, SenderQuestion
from tcptutor.ui.widgets.page.sender import SenderBox

from .made import MODULE, lossy, one_page
from .screen import text, until, until_text
from .test_sequence import traced

ASKED = SenderQuestion(
    id="now",
    prompt="What do you do now?",
    event="loss",
    choices=(
        SenderMove(text="Resend", fixed=True, feedback="The hole is known.", does="resend", cwnd="same"),
        SenderMove(text="Wait", fixed=True, feedback="You know enough.", does="nothing", cwnd="same"),
    ),
)


async def test_the_instant_is_drawn_and_the_kernels_response_follows(make_app) -> None:
    app = make_app(MODULE, of=one_page(lossy(), ASKED, after="The explanation."))
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "About your run")
        await pilot.press("r")
        await until_text(pilot, "What do you do now?")
        box = app.screen.query_one(SenderBox)
        box.show_run(traced())
        await until_text(pilot, "flow 1 at 5.0")
        drawn = box.query_one("FigureView")
        assert "cwnd is 10 segments" in drawn.description
        await until_text(pilot, "queued")
        await app.bench.close()


async def test_a_run_without_a_trace_has_no_instant(make_app) -> None:
    app = make_app(MODULE, of=one_page(lossy(), ASKED, after="The explanation."))
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "About your run")
        await pilot.press("r")
        await until_text(pilot, "What do you do now?")
        await pilot.press("tab", "1", "enter")
        await until(pilot, lambda: "None of the answers fits this run." in text(app))
        assert not app.screen.query("FigureView")
        await app.bench.close()
