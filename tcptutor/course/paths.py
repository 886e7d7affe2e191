"""Paths through the course: a page is essential or goes deeper; a student follows the essentials or everything."""

from __future__ import annotations

from typing import Literal

PagePath = Literal["essential", "deeper"]
"""Key `path` of a page."""
CoursePath = Literal["essential", "everything"]
"""Pages that a student follows, or that count for marks."""
PATHS: tuple[CoursePath, ...] = ("essential", "everything")

PRETEST = "pretest"
"""Id of a module's pre-test, in records and in the journal."""


def is_on(page: PagePath, path: CoursePath) -> bool:
    """Return True if the path includes a page with that key."""
    return path == "everything" or page == "essential"
