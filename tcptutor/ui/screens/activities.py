"""Widgets of each kind of activity: its box on the page, and the panel next to the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.choice import MultipleChoice, Order, SingleChoice
from tcptutor.course.activities.example import Example
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.observe import Observe
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.sender_question import SenderQuestion
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.ui.screens.lesson_challenge import ChallengeSide
from tcptutor.ui.screens.lesson_run import RunSide
from tcptutor.ui.screens.lesson_sweep import SweepSide
from tcptutor.ui.screens.side import Side
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.challenge import ChallengeBox
from tcptutor.ui.widgets.page.entries import NumericBox, PredictBox, ReadOffBox
from tcptutor.ui.widgets.page.example import example_box
from tcptutor.ui.widgets.page.lists import ChoiceBox, ObserveBox, OrderBox
from tcptutor.ui.widgets.page.sender import SenderBox
from tcptutor.ui.widgets.page.shape import ShapeBox
from tcptutor.ui.widgets.page.shell import ShellBox

BOXES: dict[type[Activity], Callable[[Any], ActivityBox[Any]]] = {
    Example: example_box,
    Predict: PredictBox,
    ShapePrediction: ShapeBox,
    SingleChoice: ChoiceBox,
    MultipleChoice: ChoiceBox,
    Numeric: NumericBox,
    Order: OrderBox,
    Observe: ObserveBox,
    SenderQuestion: SenderBox,
    ReadOff: ReadOffBox,
    ShellActivity: ShellBox,
    ChallengeActivity: ChallengeBox,
}
"""Boxes of activities answered on the page."""

SIDES: dict[type[Activity], type[Side]] = {
    RunActivity: RunSide,
    SweepActivity: SweepSide,
    ChallengeActivity: ChallengeSide,
}
"""Panels of activities that run next to the page."""
