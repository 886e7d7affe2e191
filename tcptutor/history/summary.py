"""Summary of a run for lists: settings, throughput and verdict, without its samples."""

from __future__ import annotations

from typing import Literal

import msgspec

from tcptutor.base.causes import LimitedBy
from tcptutor.base.printable import is_printable
from tcptutor.course.experiments import Catalogue, overrides_of
from tcptutor.run import Run, sum_or_none


class RunSummary(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A run without its samples."""

    id: str
    started: str
    """ISO 8601, with time zone."""
    experiment: str
    settings: dict[str, str]
    """Settings that differ from the experiment's own, as typed."""
    seed: int | None
    """None for an imported run."""
    throughput_bps: float | None
    """None if no flow was measured."""
    udp_bps: float | None
    """Sum of all UDP flows at their receivers; None without any."""
    limited_by: LimitedBy | None
    fidelity: Literal["valid", "suspect", "invalid", "unchecked"]
    complete: bool
    backend: str

    @property
    def is_sound(self) -> bool:
        """True if all texts are printable."""
        texts = (
            self.id,
            self.started,
            self.experiment,
            self.backend,
            *self.settings,
            *self.settings.values(),
        )
        return all(map(is_printable, texts))


def summarize(run: Run, catalogue: Catalogue) -> RunSummary:
    """Return the summary of a run, with a verdict from the analysis; takes 0.1 s for a long run."""
    from tcptutor.analysis import (  # noqa: PLC0415  # a list of known runs needs none of it, and it takes 0.1 s
        is_imported,
        is_parameter_known,
        report,
    )

    result = report(run)
    return RunSummary(
        id=run.id,
        started=run.started,
        experiment=run.experiment.name,
        settings={
            name: text
            for name, text in overrides_of(run.experiment, catalogue).items()
            if is_parameter_known(run, name)
        },
        seed=None if is_imported(run) else run.experiment.seed,
        throughput_bps=result.throughput_bps if result.flows else None,
        udp_bps=sum_or_none(flow.received_bps for flow in result.udp) if result.udp else None,
        limited_by=None if result.is_empty else result.verdict.limited_by,
        fidelity=run.fidelity.status,
        complete=run.complete,
        backend=run.environment.backend,
    )
