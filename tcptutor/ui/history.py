"""Figures of the complete runs of each page, from this session and from the journal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from tcptutor.course.measures import MEASURES
from tcptutor.spec import Experiment
from tcptutor.ui.live import EarlierRun, Live

MAX_EARLIER = 7
"""Earlier runs shown next to the current run."""


class PageRun(NamedTuple):
    """Figures of a complete run. Samples are left out, since the history lives as long as the app."""

    started: str
    experiment: Experiment
    figures: EarlierRun


class RunHistory:
    """Complete runs by page, owned by the bench. Pages add runs from the journal."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str], dict[str, PageRun]] = {}

    def add(self, live: Live) -> None:
        """Add a run that has ended; ignore what-ifs, aborted runs and runs without a report."""
        figures = figures_of(live)
        if figures is not None and live.changed_from is None:
            page = self._pages.setdefault((live.module, live.step), {})
            page[live.run.id] = PageRun(live.run.started, live.run.experiment, figures)

    def before(self, live: Live) -> tuple[EarlierRun, ...]:
        """Return the page's earlier runs with the same settings, oldest first, the latest run of each seed."""
        run = live.run
        by_seed: dict[int, EarlierRun] = {}
        for earlier in self._in_order(live.module, live.step):
            if earlier.figures.id == run.id or earlier.started > run.started:
                continue
            if _without_seed(earlier.experiment) == _without_seed(run.experiment):
                by_seed.pop(earlier.figures.seed, None)
                by_seed[earlier.figures.seed] = earlier.figures
        return tuple(by_seed.values())[-MAX_EARLIER:]

    def of(self, live: Live) -> PageRun | None:
        """Return the figures of the run; None for an aborted run."""
        return self._pages.get((live.module, live.step), {}).get(live.run.id)

    def latest(self, module: str, step: str) -> PageRun | None:
        """Return the page's latest complete run; None if none is known."""
        runs = self._in_order(module, step)
        return runs[-1] if runs else None

    def _in_order(self, module: str, step: str) -> list[PageRun]:
        return sorted(
            self._pages.get((module, step), {}).values(), key=lambda run: (run.started, run.figures.seed)
        )


def figures_of(live: Live) -> EarlierRun | None:
    """Summarize a run; None if it was aborted or has no report."""
    run = live.run
    if not run.complete or live.report is None:
        return None
    several = len(live.report.flows) > 1
    return EarlierRun(
        id=run.id,
        seed=run.experiment.seed,
        throughput_bps=live.report.throughput_bps,
        points=tuple(_average_by_second(live.rates)),
        mean_rtt_s=MEASURES["rtt"].compute(live.report) or 0.0,
        retransmits=live.report.retransmits,
        jain_index=live.report.jain_index if several else None,
        cov=MEASURES["cov"].compute(live.report) if several else None,
    )


def _without_seed(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, seed=0, title="", sources=())


def _average_by_second(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Average the points of each second. A point's time is the end of its interval."""
    for _, group in groupby(points, key=lambda point: int(point[0] - 1e-6)):
        second = list(group)
        yield second[-1][0], sum(rate for _, rate in second) / len(second)
