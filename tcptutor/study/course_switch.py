"""Switch from the app to a different course by a restart, since each course has its own journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptutor.base import places

if TYPE_CHECKING:
    from tcptutor.course.known_courses import KnownCourse


class CourseSwitch:
    """The student's other courses, and the course to open after the app exits."""

    def __init__(self) -> None:
        self.chosen: KnownCourse | None = None
        """The course to open; None to stay."""

    def others(self) -> list[KnownCourse]:
        """Return the student's other courses, the shipped course first."""
        from tcptutor.course.known_courses import KnownCourse, known_courses  # noqa: PLC0415  # not for the first frame
        from tcptutor.course.outline import OpenedCourse  # noqa: PLC0415

        shipped = OpenedCourse(places.shipped_lessons()).course
        ours = KnownCourse(id=places.SHIPPED_ID, title=shipped.title, given="", opened_at="")
        return [each for each in (ours, *known_courses()) if each.id != places.course_id()]

    def choose(self, course: KnownCourse) -> None:
        """Choose the course to open.

        Raises:
            TutorError: It cannot be opened.
        """
        if course.given:
            from tcptutor.course.sources import choose  # noqa: PLC0415  # not for the first frame

            choose(course.given)
        self.chosen = course
