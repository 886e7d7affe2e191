"""A student's whole session in the installed command at 80x24, on a replayed recording."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tcptutor.course import load
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
from tests.cli.command import TCPTUTOR
from tests.page_number import number_of
from tests.terminal.tmux import Tmux

pytestmark = pytest.mark.terminal

MODULE, PAGE, EARLIER = "parallel-streams", "one-lossy-flow", "what-a-stream-is"
PLACE = rf"A single flow on a lossy path +{number_of(PAGE)}/"
PAGE_FOOTER = "r run .*[?] keys"
"""Shown while no dialog covers the page."""
NOTE = "loss keeps it slow"


@pytest.fixture
def session(mark: str, without_state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session of a student who answered a question wrong three days ago."""
    ago = (datetime.now(UTC) - timedelta(days=3)).isoformat()
    with monkeypatch.context() as then:
        then.setattr("tcptutor.journal.journal._now", lambda: ago)
        journal = Journal.open(without_state / "tcptutor" / "journal.db")
        journal.visit(MODULE, EARLIER)
        journal.respond(MODULE, EARLIER, "recall-queue", Response((_wrong_choice(),), False, sureness="sure"))
        journal.close()
    home = without_state.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    one = Session(home)
    yield one
    one.tutor.close()


def _wrong_choice() -> str:
    """Id of a wrong choice of the question that is reviewed."""
    steps = [step for module in load().modules for step in module.steps if step.id == EARLIER]
    (asked,) = [each for each in steps[0].activities if each.id == "recall-queue"]
    assert isinstance(asked, SingleChoice)
    return next(id for id, choice in zip(asked.entry_ids, asked.choices, strict=True) if not choice.correct)


class Session:
    """The app in a terminal, and the student's home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.open()

    def open(self) -> None:
        self.tutor = Tmux(f"{TCPTUTOR} --backend replay", self.home, 80, 24)
        self.see(r"replay of a recorded run · ready", 60)

    def press(self, *keys: str) -> None:
        self.tutor.keys(*keys)

    def see(self, pattern: str, seconds: float = 20) -> re.Match[str]:
        return self.tutor.wait_for(pattern, seconds)

    def leave(self, shown: str) -> None:
        """Close what is open with Esc; a key right after Esc would be Alt with that key."""
        self.press("Escape")
        time.sleep(0.3)
        self.see(shown)

    def answer(self, choice: str) -> None:
        """Choose and answer; choices are in an order of the student's own."""
        number = self.see(rf"(\d) ○ {choice}")[1]
        self.press(number)
        self.see(rf"{number} ● {choice}")
        self.press("Enter")

    def notebook(self) -> str:
        """The notebook, written now."""
        for old in self.home.glob("*.html"):
            old.unlink()
        self.press("E")
        self.see(r"Your notebook, with \d page", 60)
        (file,) = self.home.glob("*.html")
        return file.read_text()


def test_a_session_of_review_learning_and_looking_back(session: Session) -> None:
    _review(session)
    _find_the_page(session)
    _learn(session)
    _read_a_term(session)
    _take_a_note(session)
    _look_back_at_the_page(session)
    _compare_runs(session)
    _see_the_map(session)
    _come_back(session, session.notebook())


def _review(session: Session) -> None:
    session.see("1 question is due")
    session.see("v review")
    session.press("v")
    session.see("ping rises from 30 to 90 ms")
    session.answer("From the queue in front of the link")
    session.see("✓ Right")
    session.press("Enter")
    session.see("1 of 1 right")
    session.see("The next review is due in [1-9]")
    session.press("Enter")
    session.see(r"(?s)\A(?!.*v review).*How TCP gets its throughput")


def _find_the_page(session: Session) -> None:
    session.press("/")
    session.see("a page, a term, a formula, a run")
    session.press("-l", "single flow on a lossy")
    session.see(rf"A single flow on a lossy path +page 3\.{number_of(PAGE)}")
    session.press("Enter")
    session.see(PLACE)


def _learn(session: Session) -> None:
    session.press("r")
    session.see("Predict first")
    session.press("12", "Enter")
    session.see(r"12 Mbit/s\s+\(locked")
    session.press("r")
    session.see(r"[1-9]\d? of 45 s")
    session.see(r"8\.99 Mbit/s; you said 12, 33 % too high", 60)
    assert "first say what your run showed" in session.tutor.screen
    session.press("Tab")
    session.answer("cwnd was cut again and again, though the RTT stayed")
    session.see("✓ Right")
    session.press("Tab")
    session.answer("About as much as it gets now")
    session.see("a faster link changes neither")
    session.press("Tab")
    session.answer("It becomes 1.5 times as high")
    session.see("√2.25 = 1.5")
    session.see("Enter next")


def _read_a_term(session: Session) -> None:
    session.press("/")
    session.see("a page, a term, a formula, a run")
    session.press("mathis")
    session.see(r"Mathis formula +term")
    session.press("Enter")
    session.see(r"(?s)What random loss allows one Reno.*Enter +explained, with a run")
    session.leave(PAGE_FOOTER)


def _take_a_note(session: Session) -> None:
    session.press("N")
    session.see("Your note on A single flow")
    session.press("-l", NOTE)
    session.see(NOTE)
    session.leave(PAGE_FOOTER)


def _look_back_at_the_page(session: Session) -> None:
    session.press("=")
    session.see("A little random loss leaves a single flow a small part")
    session.see(r"= 8\.973 Mbit/s")
    session.see(r"You said: 12 Mbit/s\. Measured: 8\.99 Mbit/s")
    session.press(*["BSpace"] * len("0.1%"))
    session.see(r"loss= ")
    session.press("-l", "0.4%")
    session.see(r"= 4\.48\d Mbit/s")
    session.see("Esc close")
    session.leave(PAGE_FOOTER)


def _compare_runs(session: Session) -> None:
    session.press("r")
    session.see(r"[1-3]\d of 45 s")  # after the warm-up
    session.press("s")
    session.see("cut short at")
    session.press("H")
    session.see("2 runs")
    session.press("Space", "Down", "Space")
    session.see("2 ticked")
    session.press("c")
    screen = session.see(r"(?s)A .*B .*complete +cut short +yes.*throughput +([\d.]+) Mbit/s +8\.99 Mbit/s")
    assert float(screen[1]) > 5
    session.leave("2 runs")
    session.leave(PAGE_FOOTER)


def _see_the_map(session: Session) -> None:
    session.press("p")
    session.see(rf"{number_of(PAGE)} +A single flow on a lossy path .* done")
    session.leave(PAGE_FOOTER)


def _come_back(session: Session, before: str) -> None:
    for words in (
        "12 Mbit/s",
        "8.99 Mbit/s",
        "cwnd was cut again and again",
        NOTE,
        "<svg",
        "A little random loss",
    ):
        assert words in before
    session.press("C-q")
    session.see(r"(?s)\A(?!.*[?] keys)")
    session.tutor.close()
    session.open()
    session.see(rf"Continue.*3\.{number_of(PAGE)} ")
    session.press("Enter")
    session.see(PLACE)
    session.press("N")
    session.see(NOTE)
    session.leave(PAGE_FOOTER)
    after = session.notebook()
    assert after.count("<svg") == before.count("<svg")
    assert NOTE in after
