"""Quantities a sweep plots or a prediction is about, each as one number per run."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from tcptutor.base import units
from tcptutor.run import Run, sum_or_none
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from tcptutor.analysis import Report

MeasureName = Literal["throughput", "rtt", "loss-rate", "jain", "cov", "share1", "udp-loss"]


class Measure(NamedTuple):
    """A quantity of a run."""

    kind: Literal["rate", "time", "ratio", "number"]
    label: str
    """Title over the chart."""
    compute: Callable[[Report], float | None]
    """Value in base units; None if the run lacks it."""
    is_cost: bool = False
    """True if lower is better, so that the knee is where it starts to rise."""
    is_share: bool = False
    """True for a share from 0 to 1."""
    is_jain: bool = False
    """True for Jain's index, which is at least 1/n for n flows."""

    def limits(self, flows: int) -> tuple[float, float] | None:
        """Return the possible range for `flows` flows, 0 for an unknown number; None if unbounded."""
        if self.is_jain:
            return (1 / flows if flows else 0.0), 1.0
        return (0.0, 1.0) if self.is_share else None

    def written(self, value: float) -> str:
        """Format `value` with its unit."""
        return units.write(float(f"{value:.3g}"), self.kind)


def _rtt(report: Report) -> float | None:
    return fmean(found) if (found := [flow.mean_rtt_s for flow in report.flows if flow.mean_rtt_s]) else None


def _cov(report: Report) -> float | None:
    return fmean(found) if (found := [flow.cov for flow in report.flows if flow.cov is not None]) else None


def _udp_loss(report: Report) -> float | None:
    sent = sum_or_none(flow.datagrams for flow in report.udp)
    lost = sum_or_none(flow.lost for flow in report.udp)
    return lost / sent if sent and lost is not None else None


MEASURES: dict[MeasureName, Measure] = {
    "throughput": Measure(
        "rate", "throughput", lambda report: report.throughput_bps if report.flows else None
    ),
    "rtt": Measure("time", "mean RTT", _rtt, is_cost=True),
    "loss-rate": Measure(
        "ratio",
        "loss events per segment",
        lambda report: report.loss_rate if report.flows else None,
        is_cost=True,
        is_share=True,
    ),
    "jain": Measure(
        "number", "Jain's index", lambda report: report.jain_index if report.flows else None, is_jain=True
    ),
    "cov": Measure("ratio", "variation of a flow's rate", _cov, is_cost=True),
    "share1": Measure(
        "ratio",
        "share of flow 1",
        lambda report: report.flows[0].share if report.flows else None,
        is_share=True,
    ),
    "udp-loss": Measure("ratio", "lost datagrams", _udp_loss, is_cost=True, is_share=True),
}


def measured(name: MeasureName, run: Run) -> float | None:
    """Return the quantity of `run` in base units, or None if the run lacks it."""
    from tcptutor.analysis import report  # noqa: PLC0415  # the course loads without the analysis

    return MEASURES[name].compute(report(run))


def expected(name: MeasureName, experiment: Experiment) -> float | None:
    """Return the models' value in base units, or None if no model covers the quantity."""
    from tcptutor.analysis import expect, expect_queue  # noqa: PLC0415

    match name:
        case "throughput":
            return expect(experiment).binding.throughput_bps
        case "rtt" | "loss-rate":
            queue = expect_queue(experiment)
            if queue is None:
                return None
            return queue.rtt_s if name == "rtt" else queue.loss_rate
        case _:
            return None


def answer_near(
    name: MeasureName, value: float, had: float, by_models: float | None, tolerance: float, whose: str
) -> str:
    """Return feedback on a prediction, which is right within the relative `tolerance`.

    Args:
        name: Predicted quantity.
        value: Prediction, in base units.
        had: Measured value, in base units.
        by_models: The models' value in base units, or None.
        tolerance: Relative difference that counts as right.
        whose: Subject of the sentence, "the run" or "your runs".
    """
    measure = MEASURES[name]
    written, said = measure.written(value), f"{whose} had {measure.written(had)}"
    if by_models is not None:
        said += f", the model {measure.written(by_models)}"
    if abs(value - had) <= tolerance * abs(had):
        return f"{written} is right within ±{units.percent(tolerance)}: {said}."
    return f"{written} is too {'much' if value > had else 'little'}: {said}."
