"""Claims: the numbers about its run that a page states, each with what it is of, so that it can be checked.

A value that is known before the run is checked by its formula, a measured one against a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import fmean
from typing import Literal, NamedTuple

import msgspec

from tcptutor import spec, theory, units
from tcptutor.course.quantities import quantities
from tcptutor.errors import UnitError
from tcptutor.run import Run
from tcptutor.spec import Experiment

ROUNDED = 0.006
"""Relative difference that rounding to three digits, and another way to round on the way, may make."""

Subject = Literal[
    "mathis", "link", "window", "mean-window", "throughput", "rtt", "used", "idle", "losses", "sent-again"
]


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[claim]]`"""

    text: str
    """The words with the number in them, exactly as they stand on the page."""
    of: Subject
    value: str = ""
    """The number with its unit; by default the text is that."""
    within: str = ""
    """A share, "20 %": how far chance may carry a run from it. By default what rounding makes."""


class KnownLimit(NamedTuple):
    """Something known before the run."""

    kind: str
    of: Callable[[Experiment], float]


class MeasuredFigure(NamedTuple):
    """Something measured in a run."""

    kind: str
    of: Callable[[Run], float]


def mathis(experiment: Experiment) -> float:
    """C = √(3/2), of all flows together, bit/s."""
    path = experiment.path
    one = theory.mathis(experiment.segment, path.delay, path.loss, c=theory.MATHIS_PERIODIC)
    return experiment.total_streams * one


def link(experiment: Experiment) -> float:
    """Payload that the link carries, bit/s."""
    return (experiment.path.rate or float("inf")) * theory.goodput_ratio(experiment.hosts.mtu)


def window(experiment: Experiment) -> float:
    """What the receivers' windows allow all flows together, bit/s."""
    return experiment.total_streams * theory.window_limited(
        experiment.hosts.window or float("inf"), experiment.path.delay
    )


LIMITS = {
    "mathis": KnownLimit("rate", mathis),
    "link": KnownLimit("rate", link),
    "window": KnownLimit("rate", window),
    "mean-window": KnownLimit(
        "number", lambda experiment: theory.MATHIS_PERIODIC / experiment.path.loss**0.5
    ),
}

FIGURES = {
    "throughput": MeasuredFigure("rate", lambda run: _report(run).throughput_bps),
    "rtt": MeasuredFigure(
        "time", lambda run: fmean([flow.mean_rtt_s for flow in run.flows if flow.mean_rtt_s] or [0.0])
    ),
    "used": MeasuredFigure("ratio", lambda run: _report(run).throughput_bps / link(run.experiment)),
    "idle": MeasuredFigure("ratio", lambda run: 1 - _report(run).throughput_bps / link(run.experiment)),
    "losses": MeasuredFigure("number", lambda run: _report(run).loss_events),
    "sent-again": MeasuredFigure("number", lambda run: _report(run).retransmits),
}


def least_limit(experiment: Experiment) -> float:
    """What the page's own formulas make of its experiment, bit/s; infinite where none applies."""
    limits = [link(experiment)]
    if experiment.hosts.window and experiment.path.delay:
        limits.append(window(experiment))
    if experiment.path.loss and experiment.path.delay:
        limits.append(mathis(experiment))
    return min(limits)


def malformed(claim: Claim, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Why it cannot be checked: key and reason. `texts` are what the page shows after the run."""
    if not any(claim.text in _in_one_line(text) for text in texts):
        yield "text", f"{claim.text!r} does not stand on the page after the run"
    try:
        _stated(claim)
        _within(claim)
    except UnitError as error:
        yield "value", str(error)


def wrong_before(claim: Claim, experiment: Experiment) -> str:
    """Why its formula gives something else; empty when it does not, or when it is about a measurement."""
    limit = LIMITS.get(claim.of)
    return _differs(claim, limit.of(experiment), "the formula gives") if limit else ""


def wrong_after(claim: Claim, run: Run) -> str:
    """Why a run contradicts it; empty when it does not, or when it is not about a measurement."""
    figure = FIGURES.get(claim.of)
    return _differs(claim, figure.of(run), f"the run with seed {run.experiment.seed} has") if figure else ""


def unclaimed(text: str, claims: tuple[Claim, ...], experiment: Experiment) -> Iterator[str]:
    """The quantities of `text` that no claim checks and no setting of the experiment is."""
    settings = set(spec.settings(experiment).values())
    text = _in_one_line(text)
    covered = [
        range(start, start + len(claim.text))
        for claim in claims
        for start in range(len(text))
        if text.startswith(claim.text, start)
    ]
    for written in quantities(text):
        if written.text not in settings and not any(written.start in span for span in covered):
            yield written.text


def _in_one_line(text: str) -> str:
    """Where an author broke a line is no matter."""
    return " ".join(text.split())


def _differs(claim: Claim, found: float, who: str) -> str:
    stated, kind = _stated(claim), _kind(claim)
    if abs(found - stated) <= abs(stated) * _within(claim):
        return ""
    return f"{claim.text!r}: {who} {units.write(found, kind)}"


def _kind(claim: Claim) -> str:
    return (LIMITS.get(claim.of) or FIGURES[claim.of]).kind


def _stated(claim: Claim) -> float:
    return units.parse((claim.value or claim.text).replace("*", ""), _kind(claim))


def _within(claim: Claim) -> float:
    return units.parse(claim.within, "ratio") if claim.within else ROUNDED


def _report(run: Run):  # type: ignore[no-untyped-def]
    from tcptutor.analysis import report  # noqa: PLC0415  # the course loads without the analysis

    return report(run)
