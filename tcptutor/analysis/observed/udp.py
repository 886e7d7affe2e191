"""UDP flows of a run, from the lab's results or from the samples of an interrupted run."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.run import Run, UdpResult, UdpSample


def udp_results(run: Run) -> tuple[UdpResult, ...]:
    """Return each UDP flow over the measured time by number; empty without UDP."""
    return tuple(run.udp or _from_samples(run))


def _from_samples(run: Run) -> Iterator[UdpResult]:
    flows: dict[int, list[UdpSample]] = {}
    for row in run.udp_samples:
        flows.setdefault(row.flow, []).append(row)
    warmup, streams = run.experiment.flows.warmup, max(1, run.experiment.flows.udp_streams)
    for flow, rows in sorted(flows.items()):
        first = next((at for at, row in enumerate(rows) if row.t >= warmup), len(rows))
        if len(rows) - first < 2:
            continue
        yield UdpResult.counted(rows[first], rows[first + 1 :], flow // streams)
