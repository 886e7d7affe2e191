"""Quantities a page reports about its run without a claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tcptutor import spec
from tcptutor.authoring.claims.claimed_value import in_one_line
from tcptutor.base import units
from tcptutor.course.claim import Claim
from tcptutor.course.written_quantities import WrittenQuantity, quantities
from tcptutor.spec import Experiment

PUBLISHED = "**Published**"
"""Start of a paragraph with published figures."""
_SAME = 1e-6
_COUNT = re.compile(
    r"(?<![\d,.])\d[\d,.]*+\s(?:segments|packets|datagrams|losses|drops|timeouts|marks|times)\b"
)
"""Counts and ratios, which have no unit."""


def unclaimed(text: str, claims: Iterable[Claim], settings: Iterable[WrittenQuantity]) -> Iterator[str]:
    """Yield the quantities of `text` that are neither claimed, nor settings, nor published figures."""
    own = "\n\n".join(each for each in text.split("\n\n") if not each.startswith(PUBLISHED))
    own = in_one_line(own)
    covered = [
        range(start, start + len(words))
        for claim in claims
        if (words := in_one_line(claim.text))
        for start in range(len(own))
        if own.startswith(words, start)
    ]
    given = list(settings)
    found = [
        (each.start, each.text) for each in quantities(own) if not any(_same(each, one) for one in given)
    ]
    found += [(match.start(), match[0]) for match in _COUNT.finditer(own)]
    for start, written in sorted(found):
        if not any(start in span for span in covered):
            yield written


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


def _same(one: WrittenQuantity, other: WrittenQuantity) -> bool:
    return one.kind == other.kind and abs(one.value - other.value) <= _SAME * abs(other.value)
