"""The student's other courses, which the find box offers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tcptutor.base import places
from tcptutor.base.places import ChosenCourse
from tcptutor.course.known_courses import remember
from tcptutor.course.outline import load
from tcptutor.study.course_switch import CourseSwitch
from tcptutor.ui.app import TutorApp

from .screen import keys, text, until, until_text

EXAMPLE = places.assets() / "example-course"


async def test_the_find_box_changes_to_another_course(
    make_app: Callable[..., TutorApp], without_state: Path, tmp_path: Path
) -> None:
    remember(ChosenCourse(str(tmp_path / "gone.zip"), EXAMPLE, "gone"), load(EXAMPLE))
    remember(ChosenCourse(str(EXAMPLE), EXAMPLE, "my-course"), load(EXAMPLE))
    app, switch = make_app(), CourseSwitch()
    app.course_switch = switch
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Begin")
        assert {each.id for each in switch.others()} == {places.SHIPPED_ID, "my-course", "gone"} - {
            places.course_id()
        }
        app.change_course(next(each for each in switch.others() if each.id == "gone"))
        await until(pilot, lambda: any("gone.zip" in each.message for each in app._notifications))
        assert switch.chosen is None
        await pilot.press("ctrl+p", *keys("change to my"))
        await until_text(pilot, "Change to My course (my-course)")
        assert text(app).index("(my-course)") < text(app).index("(gone)"), (
            "the course opened last comes first"
        )
        assert "How TCP gets" not in text(app)  # the course that is open
        await pilot.press("enter")
        await until(pilot, lambda: switch.chosen is not None)
    assert switch.chosen is not None and switch.chosen.id == "my-course"


async def test_without_another_course_there_is_nothing_to_change_to(
    make_app: Callable[..., TutorApp], without_state: Path
) -> None:
    app = make_app()
    app.course_switch = CourseSwitch()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Begin")
        await pilot.press("ctrl+p", *keys("change to"))
        await until_text(pilot, "change to")
        assert "Change to" not in text(app)
