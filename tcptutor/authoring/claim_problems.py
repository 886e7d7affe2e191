"""Mistakes in claims, found before any run, and numbers on a page without a claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import get_args

from msgspec.structs import replace

from tcptutor import spec
from tcptutor.authoring.claims import (
    BuildExperiment,
    ClaimRun,
    claim_run,
    evaluate,
    in_one_line,
    is_measured,
    judge,
)
from tcptutor.base import units
from tcptutor.base.causes import LimitedBy
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.course.claim import (
    ARITHMETIC,
    CAUSE,
    MEASURED_SUBJECTS,
    PUBLISHED,
    Claim,
    PageSetup,
    RunCondition,
    Subject,
)
from tcptutor.course.conditions import stated
from tcptutor.course.measurements import MEASURED, MeasuredRun
from tcptutor.course.quantities import WrittenQuantity, quantities
from tcptutor.spec import Experiment

MOST_SEEDS = 20


def claim_problems(
    claim: Claim,
    texts: Iterable[str],
    module: str,
    page: PageSetup | None,
    build: BuildExperiment,
    formulas: bool = True,
) -> Iterator[tuple[str, str]]:
    """Yield key and reason of every mistake.

    Args:
        claim: The claim.
        texts: Texts in which the claim may appear.
        module: Module of the page.
        page: Experiment and settings of the page, if any.
        build: Factory of experiments.
        formulas: Whether to evaluate claims that need no run, and report differences.
    """
    wrong = [*_words(claim, texts), *_keys(claim)]
    yield from wrong
    try:
        compared = claim_run(claim, module, page, build)
    except UsageError as error:
        yield "experiment" if page is None else "set", str(error)
        return
    wrong += (more := list(_of_experiment(claim, compared)))
    yield from more
    if formulas and not wrong and not is_measured(claim):
        judgement = judge(claim, compared, _no_run)
        if not judgement.agrees:
            gives = "assets/published has" if claim.quantity == PUBLISHED else "the formula gives"
            yield "", f"{claim.text!r}: {gives} {judgement.found}"


def _words(claim: Claim, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    if not claim.text.strip():
        yield "text", "is empty"
    elif not any(in_one_line(claim.text) in in_one_line(text) for text in texts):
        after = "" if claim.may_precede_run else " after the run"
        yield "text", f"{claim.text!r} is not on the page{after}"


def _keys(claim: Claim) -> Iterator[tuple[str, str]]:
    if not 1 <= claim.seeds <= MOST_SEEDS:
        yield "seeds", f"{claim.seeds} is out of bounds: 1 to {MOST_SEEDS}"
    if (claim.quantity == ARITHMETIC) != bool(claim.formula):
        yield "formula", "is required with quantity = 'arithmetic', and only there"
    if (claim.quantity == PUBLISHED) != bool(claim.source):
        yield "source", "is required with quantity = 'published', and only there"
    if claim.quantity == PUBLISHED and (claim.relation != "about" or claim.ratio_to):
        yield "quantity", "a published figure can only be equal: remove relation and ratio_to"
    if claim.formula:
        try:
            evaluate(claim.formula)
        except UsageError as error:
            yield "formula", str(error)
    for key, reason in condition_problems(claim):
        if key == "value" and not claim.value and any(each.isdigit() for each in claim.text):
            yield "value", f"is missing: {claim.text!r} is more than a number, so write the number alone here"
        else:
            yield key, reason


def condition_problems(condition: RunCondition) -> Iterator[tuple[str, str]]:
    """Yield key and reason of every mistake in a condition, apart from the experiment it is about."""
    if condition.relation != "about" and condition.tolerance:
        yield "tolerance", f"has no effect with {condition.relation!r}: remove it, or set relation = 'about'"
    if condition.quantity == CAUSE:
        yield from _of_cause(condition)
        return
    for key, each in (("value", replace(condition, tolerance="")), ("tolerance", condition)):
        try:
            stated(each)
        except UnitError as error:
            yield key, str(error)
            break
    yield from _part_keys(condition)


def _of_cause(condition: RunCondition) -> Iterator[tuple[str, str]]:
    names = get_args(LimitedBy)
    if condition.value not in names:
        yield "value", f"{condition.value!r} is not a cause: choose from {', '.join(names)}"
    if condition.relation != "about" or condition.tolerance or condition.ratio_to:
        yield "quantity", "a cause can only be equal: remove relation, tolerance and ratio_to"
    yield from _part_keys(condition)


def _part_keys(condition: RunCondition) -> Iterator[tuple[str, str]]:
    times = []
    for key, text in (("start", condition.start), ("end", condition.end)):
        if not text:
            continue
        try:
            times.append(units.parse(text, "time"))
        except UnitError as error:
            yield key, str(error)
        for subject in condition.subjects:
            if subject not in MEASURED_SUBJECTS or (
                subject in MEASURED and not MEASURED[subject].has_periods
            ):
                yield key, f"{subject} is not defined for a part of the time: remove it"
    if len(times) == 2 and times[0] >= times[1]:
        yield "end", f"{condition.end} is not after the start at {condition.start}"
    other = condition.ratio_to.flow if condition.ratio_to else None
    for key, flow, subject in (
        ("flow", condition.flow, condition.quantity),
        ("ratio_to.flow", other, condition.subjects[-1]),
    ):
        if flow is not None:
            yield from ((key, reason) for reason in _of_flow(flow, subject))
    if condition.quantity == "share" and condition.flow is None:
        yield "flow", "is missing: set the flow of the share"


def _of_flow(flow: int, subject: Subject) -> Iterator[str]:
    if flow < 1:
        yield f"{flow} is out of bounds: flows are counted from 1"
    if subject not in MEASURED_SUBJECTS or (subject in MEASURED and not MEASURED[subject].by_flow):
        yield f"{subject} is not defined for a single flow: remove it"


def _of_experiment(claim: Claim, compared: ClaimRun) -> Iterator[tuple[str, str]]:
    """Yield flows and times the experiment lacks."""
    other = claim.ratio_to.flow if claim.ratio_to else None
    pairs = (
        ("flow", claim.flow, compared.of, claim.quantity),
        ("ratio_to.flow", other, compared.per, claim.subjects[-1]),
    )
    for key, flow, experiment, subject in pairs:
        if flow is not None and experiment is not None:
            udp = subject.startswith("udp-")
            number = experiment.pairs * experiment.flows.udp_streams if udp else experiment.total_streams
            if flow > number:
                yield key, f"the experiment has only {number}"
    for key, text in (("start", claim.start), ("end", claim.end)):
        for experiment in compared:
            if experiment is not None and text and _after(text, experiment):
                yield key, f"{text} is after the run's end at {units.seconds(experiment.seconds)}"


def _after(text: str, experiment: Experiment) -> bool:
    try:
        return units.parse(text, "time") > experiment.seconds
    except UnitError:
        return False


def _no_run(experiment: Experiment) -> MeasuredRun:
    raise AssertionError(f"what is known before the run needs none: {experiment.name}")


PUBLISHED_MARK = "**Published**"
"""Start of a paragraph with published figures."""
_SAME = 1e-6
_COUNT = re.compile(
    r"(?<![\d,.])\d[\d,.]*+\s(?:segments|packets|datagrams|losses|drops|timeouts|marks|times)\b"
)
"""Counts and ratios, which have no unit."""


def unclaimed(text: str, claims: Iterable[Claim], settings: Iterable[WrittenQuantity]) -> Iterator[str]:
    """Yield the quantities of `text` that are neither claimed, nor settings, nor published figures."""
    own = "\n\n".join(each for each in text.split("\n\n") if not each.startswith(PUBLISHED_MARK))
    own = in_one_line(own)
    covered = claimed_spans(own, claims)
    given = list(settings)
    found = [
        (each.start, each.text)
        for each in quantities(own)
        if not any(same_quantity(each, one) for one in given)
    ]
    found += [(match.start(), match[0]) for match in _COUNT.finditer(own)]
    for start, written in sorted(found):
        if not any(start in span for span in covered):
            yield written


def claimed_spans(text: str, claims: Iterable[Claim]) -> list[range]:
    """Return where `text`, which is one line, has the words of a claim."""
    return [
        range(start, start + len(words))
        for claim in claims
        if (words := in_one_line(claim.text))
        for start in _starts(text, words)
    ]


def _starts(text: str, words: str) -> Iterator[int]:
    start = text.find(words)
    while start >= 0:
        yield start
        start = text.find(words, start + 1)


def settings_of(experiments: Iterable[Experiment], values: Iterable[str] = ()) -> Iterator[WrittenQuantity]:
    """Yield the settings of experiments, sizes of frames and segments, and a sweep's axis `values`."""
    for experiment in experiments:
        for text in (*spec.settings(experiment).values(), *_constants(experiment)):
            yield from quantities(text)
    for text in values:
        yield from quantities(text)


def _constants(experiment: Experiment) -> Iterator[str]:
    frame = experiment.segment + experiment.headers
    for size in (experiment.segment, experiment.hosts.mtu, frame, frame + experiment.framing):
        yield f"{size} bytes"
    yield units.write(experiment.seconds, "time")
    yield units.write(experiment.flows.warmup, "time")
    yield units.write(experiment.flows.duration, "time")
    yield units.write(experiment.path.queue, "size")


def same_quantity(one: WrittenQuantity, other: WrittenQuantity) -> bool:
    """Return True if both have the same kind and value."""
    return one.kind == other.kind and abs(one.value - other.value) <= _SAME * abs(other.value)
