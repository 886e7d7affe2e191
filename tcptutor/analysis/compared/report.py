"""A run in numbers, beside every model, with the reason when they differ."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from tcptutor.analysis.case import ENOUGH_LOSSES, SATURATED, case_of
from tcptutor.analysis.compared.difference import Difference
from tcptutor.analysis.compared.explain import Verdict, verdict
from tcptutor.analysis.compared.reasons import not_modelled, reason, was
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.expected.prediction import Expectation, Prediction
from tcptutor.analysis.observed.figures import DirectionFigures, FlowFigures, cov_between, directions, figures
from tcptutor.analysis.observed.foreign import is_told
from tcptutor.analysis.observed.measured import Measured, measure, path_known
from tcptutor.run import Run, UdpResult
from tcptutor.theory import jain_index
from tcptutor.theory.models import CAUSE_NAMES, ThroughputModel

MOST = 0.4
"""The largest tolerance inside which a model explains a run: a wider one takes rates of 1 to 2.3 and more."""

_FORECASTS = (
    "expect a little less",
    "expect less",
    "too short to keep the link full",
    "leave less than either",
)
"""Words of notes that foretell less than the link carries."""

Judgement = Literal["explains", "misses", "undecided", "not-the-limit", "capped", "of-others"]
"""What a run says of a model.

`undecided`: it cannot tell, by chance or since the tolerance is wide. `not-the-limit`: more was allowed, and something
else was the limit. `capped`: the link's rate, whatever the formula gives. `of-others`: not these flows' algorithm.
"""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction beside the measurement."""

    prediction: Prediction
    ratio: float
    """Measured over predicted."""
    judgement: Judgement
    reason: str = ""
    """Why they differ, where it is known; one short sentence or empty."""

    @property
    def within(self) -> bool:
        """Whether the model explains the run: a tick."""
        return self.judgement == "explains"

    @property
    def difference(self) -> float:
        """Measured less predicted, over predicted."""
        return self.ratio - 1


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A run in numbers, beside every model."""

    throughput_bps: float
    """Payload of all flows together, bit/s, warm-up left out."""
    jain_index: float | None
    """Of flows that share a link; None where flows run both ways: `directions` has one each."""
    loss_rate: float | None
    """Loss events per segment sent; None where they are unknown, as are the next two."""
    retransmits: int | None
    loss_events: int | None
    undone: int
    """Loss events in which nothing was lost: all that was retransmitted had arrived; 0 on a path that duplicates."""
    mark_cuts: int
    """Times that ECN marks cut a window, with nothing lost."""
    compared: tuple[Compared, ...]
    """The binding prediction first; empty where nothing was measured, the run is invalid or its path is not known."""
    verdict: Verdict
    flows: tuple[FlowFigures, ...] = ()
    cov_between: float | None = None
    """Coefficient of variation of the flows' means; None for one flow."""
    directions: tuple[DirectionFigures, ...] = ()
    """Each direction by itself; empty where all TCP flows run one way."""
    udp: tuple[UdpResult, ...] = ()
    note: str = ""
    """Why prediction and measurement differ, where it is known; one sentence or empty."""

    @property
    def nothing(self) -> bool:
        """Whether no flow of any kind was measured: then there are no figures, not even zeros."""
        return not self.flows and not self.udp


def report(run: Run) -> Report:
    """Throughput, fairness and losses of `run`, each model's ratio to it, and why. Never raises."""
    return report_of(measure(run))


def report_of(measured: Measured) -> Report:
    """The report of a run that has been measured already."""
    run, flows, throughput = measured.run, measured.flows, measured.throughput
    mss = max((flow.mss for flow in flows), default=0) or None
    timeouts = [each.mean("rto") for each in measured.intervals]
    rto = math.fsum(timeouts) / len(timeouts) if timeouts and min(timeouts) > 0 else None
    known = (mss, rto, (run.environment.backend, run.environment.clock) == ("guest", "virtual"))
    expectation, case = expect(run.experiment, *known), case_of(run.experiment, *known)
    why = verdict(measured)
    differences = [
        Difference(prediction, expectation, measured, case, why)
        for prediction in (expectation.predictions if _comparable(measured) else ())
        if _can_be_asked(run, prediction)
    ]
    first = next(iter(differences), None)
    compared = [
        Compared(prediction=it.prediction, ratio=it.ratio, judgement=judged(it), reason=reason(it))
        for it in differences
    ]
    return Report(
        throughput_bps=throughput,
        jain_index=_jain_index(measured) if not (ways := directions(measured)) else None,
        loss_rate=measured.loss_rate,
        retransmits=measured.retransmits,
        loss_events=measured.losses,
        undone=0 if run.experiment.path.duplicate else sum(each.undone for each in measured.intervals),
        mark_cuts=measured.mark_cuts,
        compared=tuple(compared),
        verdict=why,
        flows=figures(measured),
        cov_between=cov_between(measured),
        directions=ways,
        udp=measured.udp,
        note=_note(measured, expectation, compared, first, why) if flows or measured.udp else why.sentence,
    )


def _jain_index(measured: Measured) -> float:
    """Flows that got nothing at all are all equal."""
    flows = measured.flows
    return jain_index(flow.throughput_bps for flow in flows) if flows and measured.throughput > 0 else 1.0


def judged(it: Difference) -> Judgement:
    """What the run says of one prediction: the one place where a tick is given."""
    prediction = it.prediction
    if it.capped:
        return "capped"
    if it.of_others:
        return "of-others"
    limit = it.verdict.limited_by
    other = limit != "unexplained" and not it.includes(limit)
    if it.ratio < 1 and other and not (it.within or it.binds):
        return "not-the-limit"
    if prediction.tolerance > MOST or (it.within and not _speaks_for(it)):
        return "undecided"
    return "explains" if it.within else "misses"


def _speaks_for(it: Difference) -> bool:
    """Whether a run inside its tolerance speaks for this prediction.

    Not for a loss model in a run that the lab calls suspect, as it does where losses are too few, or did not
    check. Chance is the same for all models of one limit: it is no reason to believe in one that says clearly
    something else than what binds.
    """
    prediction, binding = it.prediction, it.expectation.binding
    if prediction.limited_by == "random-loss" and it.measured.run.fidelity.status != "valid":
        return False
    apart = abs(prediction.throughput_bps / binding.throughput_bps - 1)
    return prediction.limited_by != binding.limited_by or apart <= _sure(binding)


def _sure(prediction: Prediction) -> float:
    """The tolerance without chance, relative."""
    return math.hypot(*(value for name, value in prediction.tolerance_from.items() if name != "losses"))


def _comparable(measured: Measured) -> bool:
    """Whether models are set beside it: nothing measured is no figure, nor is what the lab itself calls invalid."""
    run = measured.run
    return bool(measured.flows or measured.udp) and run.fidelity.status != "invalid" and path_known(run)


def _can_be_asked(run: Run, prediction: Prediction) -> bool:
    """Whether what a model needs is known: of an import the round trip only where its importer gave the delay."""
    by_round_trip = prediction.model.is_by_round_trip or prediction.model is ThroughputModel.WAY_BACK
    return is_told(run, "delay") or not by_round_trip


def _note(
    measured: Measured,
    expectation: Expectation,
    compared: list[Compared],
    first: Difference | None,
    why: Verdict,
) -> str:
    """Return one sentence: first what makes the measurement doubtful, then what the model did not know."""
    run, fidelity = measured.run, measured.run.fidelity
    if fidelity.status in ("suspect", "invalid"):
        return fidelity.reasons[0] if fidelity.reasons else f"the lab calls this run {fidelity.status}"
    if not run.complete:
        return "cut short: the figures are for the part that ran"
    return _of_binding(expectation, compared[0], first, why) if first is not None else ""


def _of_binding(expectation: Expectation, binding: Compared, first: Difference, why: Verdict) -> str:
    """Return what to know of the model that was expected to bind, `first`, after the run."""
    forecast = "" if _has_failed(expectation.note, why) else expectation.note
    unclaimed = first.prediction.tolerance >= 1 and bool(forecast)
    if binding.within or unclaimed:
        return forecast
    lossy = first.prediction.limited_by == "random-loss"
    if lossy and (unlike := not_modelled(first)):
        return unlike
    if why.limited_by != "unexplained" and not first.includes(why.limited_by):
        expected = CAUSE_NAMES["random-loss"] if lossy else first.prediction.label
        return f"{expected} was expected to be the limit, but {was(why.limited_by)}"
    if lossy and expectation.loss_events < ENOUGH_LOSSES:
        return forecast
    return binding.reason or forecast


def _has_failed(note: str, why: Verdict) -> bool:
    """Whether a note from before the run foretells less than the link, and the run reached the link."""
    used = why.evidence.link_used if why.evidence else None
    return used is not None and used >= SATURATED and any(words in note for words in _FORECASTS)
