"""Whether what a run says of itself is true: by what no network can do, whatever the lab has measured."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tcptutor.base.errors import TutorError
from tcptutor.run import Run
from tcptutor.spec import Experiment

_MORE = 1.05
"""What a measurement may be above a bound, relative."""


def wrong(outcome: Run | Exception) -> list[str]:
    """What is wrong with a run or a refusal, a sentence each; empty for one that is as it should be."""
    if isinstance(outcome, Run):
        return list(_of_run(outcome))
    if not isinstance(outcome, TutorError):
        return [f"ended by {type(outcome).__name__}: {outcome}"]
    said = str(outcome)
    found = [] if said.isprintable() and said else [f"refused in other than one line: {said!r}"]
    if outcome.exit_code not in (2, 3):
        found.append(f"failed after it had begun: {said}")
    return found


def _of_run(run: Run) -> Iterator[str]:
    fidelity = run.fidelity
    if not run.complete or fidelity.status == "unchecked":
        yield f"not whole: {run.note}"
    elif fidelity.status != "valid":
        if not fidelity.reasons or not all(reason.isprintable() for reason in fidelity.reasons):
            yield f"{fidelity.status} without a reason in one line: {fidelity.reasons}"
    else:
        yield from _impossible(run)


def _impossible(run: Run) -> Iterator[str]:
    """What a valid run may not say."""
    experiment, flows = run.experiment, run.flows
    if len(flows) != experiment.total_streams or bool(run.udp) != bool(experiment.flows.udp_streams):
        yield f"{len(flows)} flows and {len(run.udp)} of UDP"
    for reverse in (False, True):
        carried = sum(flow.throughput_bps for flow in flows if experiment.reversed(flow.flow) == reverse)
        carried += 0 if reverse else sum(flow.received_bps for flow in run.udp)
        most = _fastest(experiment, reverse)
        if experiment.flows.bytes is None and carried > most * _MORE:
            yield f"{carried:g} bit/s over a link of {most:g}"
    if not any(flow.throughput_bps > 0 for flow in flows) and not any(
        flow.received_bps > 0 for flow in run.udp
    ):
        yield "nothing arrived"
    for flow in flows:
        least = _least_rtt(experiment, flow.flow)
        if flow.mean_rtt_s < least * 0.99:
            yield f"an RTT of {flow.mean_rtt_s:g} s on a path of {least:g}"
        window = experiment.hosts.window
        if window is not None and least and flow.throughput_bps * least / 8 > window * _MORE + flow.mss:
            yield f"{flow.throughput_bps:g} bit/s with a window of {window} on a path of {least:g} s"
        for bound in (experiment.flows.pacing, experiment.hosts.maxrate):
            if (
                bound is not None
                and flow.throughput_bps > bound * _MORE + 8 * 10 * flow.mss / experiment.flows.duration
            ):
                yield f"{flow.throughput_bps:g} bit/s of a flow that is paced at {bound:g}"
    for each in run.udp:
        if each.received_bps > each.sent_bps * _MORE and not experiment.path.duplicate:
            yield f"{each.received_bps:g} bit/s of UDP of {each.sent_bps:g} sent"
    yield from _losses(run)


def _fastest(experiment: Experiment, reverse: bool) -> float:
    path = experiment.path
    if reverse:
        return path.reverse_rate or math.inf
    rates = [path.rate, *(change.value for change in path.changes if change.name == "rate")]
    return max(rate or math.inf for rate in rates)


def _least_rtt(experiment: Experiment, flow: int) -> float:
    path = experiment.path
    here = [path.delay, *(change.value for change in path.changes if change.name == "delay")]
    least = min(here) - path.jitter
    if path.reorder or path.jitter_shape != "uniform":
        least = 0.0
    return max(0.0, least) + experiment.delay(flow) - path.delay


def _losses(run: Run) -> Iterator[str]:
    path, checks = run.experiment.path, run.fidelity.checks
    changed = any(change.name == "loss" for change in path.changes)
    if path.loss_by != "netem" or path.loss_correlation or path.duplicate:
        return
    if changed or "random drops" not in checks:
        return
    drops, packets = int(checks["random drops"]), int(checks["netem packets"])
    packets += int(checks.get("tbf drops", 0))
    mean = path.loss * (drops + packets)
    spread = math.sqrt(mean * max(0.0, 2 * path.loss_burst - 1))
    if abs(drops - mean) > 7 * spread + 6:
        yield f"{drops} drops of {drops + packets} packets at a loss of {path.loss:g}"
