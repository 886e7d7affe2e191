"""When a step counts as done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Question
from tcptutor.course.model import Step

Read = Callable[..., list[Any]]
"""Takes SQL and its values, gives the rows."""

# Each asks for one thing of the step; a row means that it is there.
_VISITED = "SELECT 1 FROM visits WHERE module = ? AND step = ?"
_PREDICTED = "SELECT 1 FROM predictions WHERE module = ? AND step = ?"
_RAN = "SELECT 1 FROM runs WHERE module = ? AND step = ? AND complete = 1 LIMIT 1"
_RIGHT = "SELECT DISTINCT question FROM answers WHERE module = ? AND step = ? AND correct = 1"


def is_done(read: Read, module: str, step: Step) -> bool:
    """Seen; predicted (or knowingly run without); run to its end; every question answered right."""
    if not read(_VISITED, module, step.id):
        return False
    if step.of(Predict) and not read(_PREDICTED, module, step.id):
        return False
    if step.experiment and not read(_RAN, module, step.id):
        return False
    questions = step.of(Question)
    right = {question for (question,) in read(_RIGHT, module, step.id)} if questions else set()
    return all(question.id in right for question in questions)
