"""Asked questions made for tests, as plain data."""

from __future__ import annotations

from tcptutor.course.activities.numeric import KnownMistake, Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.room.asked import AskedQuestion, AskedRound

_CHOICES = AskedRound(
    text="Which one?", choices=("zero", "one", "two"), right=(1,), feedback=("no 0", "yes", "no 2")
)
CHOICES = AskedQuestion(activity="q", module="basics", page="page", rounds=(_CHOICES, _CHOICES))
"""A question with three choices of which the second, 1, is right."""


def _number(megabits: int) -> AskedRound:
    numeric = Numeric(
        id="n",
        prompt=f"How fast with {megabits}?",
        answer=f"{megabits} Mbit/s",
        unit="rate",
        feedback="Look again.",
        mistakes=(KnownMistake(value=f"{megabits // 8} Mbit/s", feedback="bytes, not bits"),),
    )
    return AskedRound(text=numeric.prompt, numeric=numeric)


NUMBERS = AskedQuestion(
    activity="n",
    module="basics",
    page="page",
    rounds=(_number(8), _number(16)),
    unit="rate",
    plain_unit="Mbit/s",
    example="9 Mbit/s",
)
"""A numeric question: 8 Mbit/s in the first round, 16 in the second."""

_PREDICTION = AskedRound(text="Predict the throughput.", prediction=Predict(prompt="Predict the throughput."))
PREDICTION = AskedQuestion(
    activity="predict",
    rounds=(_PREDICTION, _PREDICTION),
    unit="rate",
    plain_unit="Mbit/s",
    example="9 Mbit/s",
)
