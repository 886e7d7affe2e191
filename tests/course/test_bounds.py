"""Predictions that nothing measured can come to are refused, in one line, before they are locked."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course import load
from tcptutor.course.activities.predict import Predict
from tcptutor.course.measures import MEASURES, MeasureName
from tcptutor.journal import Journal
from tcptutor.spec import Experiment, Flows
from tcptutor.study.study import Study


@pytest.mark.parametrize(
    ("measure", "given", "refused"),
    [
        ("jain", "45", True),
        ("jain", "1.01", True),
        ("jain", "0.2", True),
        ("jain", "0.25", False),
        ("jain", "1", False),
        ("share1", "120 %", True),
        ("share1", "0 %", False),
        ("udp-loss", "101 %", True),
        ("cov", "150 %", False),
        ("throughput", "0", True),
        ("throughput", "1 kbit/s", False),
        ("rtt", "0 ms", True),
    ],
)
def test_each_quantity_has_its_bounds(measure: MeasureName, given: str, refused: bool) -> None:
    predict = Predict(prompt="?", unit=MEASURES[measure].kind, measure=measure)
    experiment = Experiment(name="four", flows=Flows(streams=4))
    reason = predict.impossible(given, measure, experiment)
    assert bool(reason) == refused
    assert "\n" not in reason


def test_an_impossible_prediction_of_a_sweep_is_not_locked() -> None:
    """Among them Jain's index of 45, which gave its chart an axis up to 50."""
    refused = 0
    for module in load().modules:
        for step in module.steps:
            sweep = step.sweep
            for predict in step.activities_of(Predict):
                if sweep is None or not predict.at or MEASURES[sweep.measure].limits(2) is None:
                    continue
                study = Study(module, step, Journal.in_memory())
                with pytest.raises(UsageError, match="lies between"):
                    study.respond(predict, "4500 %" if predict.unit == "ratio" else "45")
                assert study.record_of(predict).attempts == 0
                refused += 1
    assert refused
