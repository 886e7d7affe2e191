"""Words that several parts of the home screen share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tcptutor.course.outline import Module
from tcptutor.course.paths import PRETEST
from tcptutor.ui.widgets.page.text import hanging

if TYPE_CHECKING:
    from tcptutor.course.step import Step

LABEL = 13
"""Columns of a label."""


def labeled(label: str, text: str, width: int) -> Content:
    """Return a text wrapped to `width` columns, with its label at the left."""
    return Content("\n").join(hanging(Content.styled(f"{label:<{LABEL}}", "$text-muted"), text, width))


def name_of(module: Module, step: Step | None) -> str:
    """Return "1.9 More than the pipe holds", or the module's name without a page."""
    if step is None:
        return f"{module.number} {module.title}"
    if step.id == PRETEST:
        return f"{module.number} {module.title}, pre-test"
    return f"{module.number}.{module.steps.index(step) + 1} {step.title}"


def count_pages(number: int) -> str:
    """Return "1 page" or "12 pages"."""
    return f"{number} page" if number == 1 else f"{number} pages"
