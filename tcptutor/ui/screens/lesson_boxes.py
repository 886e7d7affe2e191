"""Boxes of a page's activities for this student: with drawn numbers, order, question number and marks."""

from __future__ import annotations

from typing import Any

from tcptutor.base import places
from tcptutor.course.activity import Question
from tcptutor.course.page_references import PageTitles
from tcptutor.course.rules import activity_rule
from tcptutor.study.study import Study
from tcptutor.study.tally import question_progress
from tcptutor.ui.screens.activities import BOXES
from tcptutor.ui.screens.base import Tutor
from tcptutor.ui.widgets.page.box import ActivityBox


def page_boxes(study: Study, tutor: Tutor, is_marked: bool) -> list[ActivityBox[Any]]:
    """Build the boxes of a page, in the order of the page.

    Args:
        study: The student's work on the page.
        tutor: The app.
        is_marked: True if work on the page earns marks, which the boxes then state.
    """
    posed = [study.posed(each) for each in study.step.activities if type(each) in BOXES]
    boxes = [BOXES[type(each)](each) for each in posed]
    titles = PageTitles(tutor.course.root or places.lessons())
    questions = [box.activity for box in boxes if isinstance(box.activity, Question)]
    is_numbered = question_progress(study.step, study.record) is not None
    for box in boxes:
        box.pulses = lambda: not tutor.motion.off_because
        box.order = study.shown_order(box.activity)
        if isinstance(box.activity, Question):
            box.number = f"{questions.index(box.activity) + 1}" if is_numbered else ""
            box.recalled_page = titles.link(box.activity.recall) if box.activity.recall else ""
        if is_marked:
            box.rule = activity_rule(tutor.course.marks, box.activity.table)
    return boxes
