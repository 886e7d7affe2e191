"""Numbers drawn for the questions of a page, and the hints shown with them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from tcptutor.base.errors import UsageError
from tcptutor.course import personal
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import PageRecord


class DrawnNumbers:
    """Current numbers of each question of a page that uses random numbers."""

    def __init__(self, page: tuple[str, str], identity: Callable[[], str]) -> None:
        """Start without numbers.

        Args:
            page: Ids of the module and the page.
            identity: Returns the student's identity (`course.personal.identity`), or "" if it is unknown.
        """
        self._page, self._identity = page, identity
        self._draws: dict[str, dict[str, str]] = {}
        self._hint_levels: dict[str, int] = {}
        """The highest hint level shown with the current numbers, by activity id."""

    def __contains__(self, activity: Activity) -> bool:
        """Return True if the activity uses random numbers."""
        return activity.id in self._draws

    def drawn(self, activity: Activity) -> dict[str, str] | None:
        """Return the activity's current numbers; None if it uses no random numbers."""
        return self._draws.get(activity.id)

    def restore(self, activity: Activity, record: PageRecord) -> None:
        """Restore the numbers of the latest answer, so that it stays readable; draw the first numbers otherwise."""
        earlier = record.activity(activity.id)
        self._draws[activity.id] = self._initial_draw(activity, record)
        self._hint_levels[activity.id] = 0 if earlier.right else earlier.hints

    def redraw(self, activity: Activity, record: PageRecord) -> None:
        """Draw new numbers for an activity, which then has no hints shown."""
        attempts = record.all_attempts(activity.id)
        self._draws[activity.id] = self._different_draw(activity, attempts, self._draws[activity.id])
        self._hint_levels[activity.id] = 0

    def hint_level(self, activity: Activity) -> int | None:
        """Return the highest hint level shown with the current numbers; None if there are no random numbers."""
        return self._hint_levels.get(activity.id)

    def record_hint(self, activity: Activity, level: int) -> None:
        """Record a hint level as shown; without effect on an activity without random numbers."""
        if activity.id in self._hint_levels:
            self._hint_levels[activity.id] = level

    def _initial_draw(self, activity: Activity, record: PageRecord) -> dict[str, str]:
        latest = record.activity(activity.id).latest
        if latest is not None:
            with contextlib.suppress(UsageError):  # the lesson was edited since
                activity.with_numbers(latest.draw)
                return latest.draw
        attempts = record.all_attempts(activity.id)
        return self._different_draw(activity, attempts, latest.draw if latest is not None else {})

    def _different_draw(self, activity: Activity, attempts: int, before: dict[str, str]) -> dict[str, str]:
        return personal.draw_again(
            lambda more: activity.draw_numbers(self._draw_seed(activity, attempts, more)), before
        )

    def _draw_seed(self, activity: Activity, attempts: int, more: int) -> str:
        """Return a seed that differs per student and stays the same until the next answer."""
        return personal.question_seed(self._identity(), *self._page, activity.id, attempts, more)
