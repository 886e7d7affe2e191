"""A run in numbers, beside every model, with the reason when they differ."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from tcptutor.analysis.case import ENOUGH_LOSSES, case_of
from tcptutor.analysis.compared.difference import Difference
from tcptutor.analysis.compared.explain import Verdict, verdict
from tcptutor.analysis.compared.reasons import reason, was
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.expected.prediction import Expectation, Prediction
from tcptutor.analysis.observed.figures import FlowFigures, cov_between, figures
from tcptutor.analysis.observed.measured import Measured, measure, path_known
from tcptutor.run import Run, UdpResult
from tcptutor.theory import jain_index

MOST = 0.4
"""The largest tolerance inside which a model explains a run: a wider one takes rates of 1 to 2.3 and more."""

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
    jain_index: float
    loss_rate: float | None
    """Loss events per segment sent; None where they are unknown, as are the next two."""
    retransmits: int | None
    loss_events: int | None
    mark_cuts: int
    """Times that ECN marks cut a window, with nothing lost."""
    compared: tuple[Compared, ...]
    """The binding prediction first; empty where nothing was measured, the run is invalid or its path is not known."""
    verdict: Verdict
    flows: tuple[FlowFigures, ...] = ()
    cov_between: float | None = None
    """Coefficient of variation of the flows' means; None for one flow."""
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
    expectation, case = expect(run.experiment, mss, rto), case_of(run.experiment, mss, rto)
    why = verdict(measured)
    compared = []
    for prediction in expectation.predictions if _comparable(measured) else ():
        it = Difference(prediction, expectation, measured, case, why)
        compared.append(
            Compared(prediction=prediction, ratio=it.ratio, judgement=judged(it), reason=reason(it))
        )
    return Report(
        throughput_bps=throughput,
        # Flows that got nothing at all are all equal.
        jain_index=jain_index(flow.throughput_bps for flow in flows) if flows and throughput > 0 else 1.0,
        loss_rate=measured.loss_rate,
        retransmits=measured.retransmits,
        loss_events=measured.losses,
        mark_cuts=measured.mark_cuts,
        compared=tuple(compared),
        verdict=why,
        flows=figures(measured),
        cov_between=cov_between(measured),
        udp=measured.udp,
        note=_note(run, expectation, compared, why) if flows or measured.udp else why.sentence,
    )


def judged(it: Difference) -> Judgement:
    """What the run says of one prediction: the one place where a tick is given."""
    prediction = it.prediction
    if it.capped:
        return "capped"
    if it.of_others:
        return "of-others"
    limit = "random-loss" if it.verdict.limited_by == "timeout" else it.verdict.limited_by
    within = abs(it.ratio - 1) <= prediction.tolerance
    if it.ratio < 1 and not (within or it.binds) and limit not in (prediction.limited_by, "unexplained"):
        return "not-the-limit"
    if prediction.tolerance > MOST or (within and not _speaks_for(it)):
        return "undecided"
    return "explains" if within else "misses"


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


def _note(run: Run, expectation: Expectation, compared: list[Compared], why: Verdict) -> str:
    """One sentence: first what makes the measurement doubtful, then what the model did not know."""
    fidelity = run.fidelity
    if fidelity.status in ("suspect", "invalid"):
        return fidelity.reasons[0] if fidelity.reasons else f"the lab calls this run {fidelity.status}"
    if not run.complete:
        return "cut short: the figures are for the part that ran"
    if not compared:
        return ""
    binding, prediction = compared[0], compared[0].prediction
    few = prediction.limited_by == "random-loss" and expectation.loss_events < ENOUGH_LOSSES
    unclaimed = prediction.tolerance >= 1 and bool(expectation.note)
    if binding.within or few or unclaimed:
        return expectation.note
    if why.limited_by not in (prediction.limited_by, "unexplained"):
        return f"{prediction.label} was expected to be the limit, but {was(why.limited_by)}"
    return binding.reason or expectation.note
