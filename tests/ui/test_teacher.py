"""Comments of a teacher: home names their pages until those are opened, and each page shows its own."""

from __future__ import annotations

from typing import Any

from tcptutor.course.page_record import TeacherComment
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp

from .made import MODULE, STEP, one_page
from .screen import text, until_text
from .test_footer import question


async def test_home_names_the_page_of_new_comments_until_it_is_opened(journal: Journal, lab: Any) -> None:
    journal.visit(MODULE, STEP)
    journal.comment(MODULE, STEP, TeacherComment("Well reasoned.", by="Dr. Who"))
    journal.comment(MODULE, STEP, TeacherComment("Red is a color.", "red"))
    app = TutorApp(one_page(question("red")), journal, lambda: lab)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "2 from your teacher: open 1.1")
        await pilot.press("enter")
        await until_text(pilot, "Your teacher  Dr. Who")
        assert any("at its end" in each.message for each in app._notifications)
        assert "Well reasoned." in text(app)
        lines = [line.strip(" ┃█▌▐") for line in text(app).splitlines()]
        at = next(at for at, line in enumerate(lines) if "Red is a color." in line)
        assert "Is it red?" in lines[at - 1]
        await pilot.press("m")
        await until_text(pilot, "Continue")
        assert "from your teacher" not in text(app)


async def test_a_page_without_comments_has_no_block_for_them(journal: Journal, lab: Any) -> None:
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it red?")
        assert "Your teacher" not in text(app)
