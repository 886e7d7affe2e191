"""The shipped pages in German: titles, choices and feedback; other pages in the original."""

from __future__ import annotations

from collections.abc import Callable

from tcptutor.base import places
from tcptutor.course.outline import OpenedCourse
from tcptutor.ui.app import TutorApp

from .screen import text, until_text

SIZE = (80, 60)


async def test_a_page_is_read_and_answered_in_german_and_the_next_may_be_english(
    make_app: Callable[..., TutorApp],
) -> None:
    course = OpenedCourse(places.shipped_lessons(), "de").course
    async with make_app("tcp-basics", of=course).run_test(size=SIZE) as pilot:
        await pilot.press("right")
        await until_text(pilot, "Wie TCP eine Datei überträgt")
        await until_text(pilot, "ACK 2000 bestätigt zwei Segmente")
        assert "Bytes 0–999" in text(pilot.app)
        await pilot.press("space", "tab")
        shown = text(pilot.app)
        place = next(n for n in range(1, 5) if f"{n} ○ ACK 3000, das Byte nach dem neuesten" in shown)
        await pilot.press(str(place), "enter")
        await until_text(pilot, "Not yet. ACK 3000 bestätigt alle Bytes unter 3000.")
        await pilot.press("escape", "right", "right", "right")
        await until_text(pilot, "A connection from SYN to FIN")
