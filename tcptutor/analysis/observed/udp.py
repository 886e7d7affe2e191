"""Each UDP flow of a run: as the lab summed it up, or what the samples of a run that was cut off still tell."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.run import Run, UdpResult, UdpSample


def udp_results(run: Run) -> tuple[UdpResult, ...]:
    """Over the measured time, in the order of their numbers; empty for a run without UDP."""
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
        start, end = rows[first], rows[-1]
        seconds, lost = end.t - start.t, end.lost - start.lost
        datagrams, received = end.datagrams - start.datagrams, end.received - start.received
        jitters = [row.jitter for row in rows[first + 1 :] if row.jitter is not None]
        size = received / (datagrams - lost) if datagrams > lost else 0.0
        yield UdpResult(
            flow=flow,
            pair=flow // streams,
            sent_bps=8 * size * datagrams / seconds,
            received_bps=8 * received / seconds,
            lost=max(0, lost),
            datagrams=datagrams,
            jitter_s=sum(jitters) / len(jitters) if jitters else None,
        )
