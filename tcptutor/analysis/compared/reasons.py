"""Known reasons why a run differs from a model's prediction, with a function for each.

Each function returns a short sentence, or an empty string if it does not explain the difference from its model.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tcptutor import theory
from tcptutor.analysis.case import ENOUGH_LOSSES
from tcptutor.analysis.compared.clauses import KEEP_SHORT
from tcptutor.analysis.compared.difference import Difference
from tcptutor.analysis.compared.findings import acks_fill_return_path, repairs_one_by_one
from tcptutor.analysis.expected.loss import ACKS_MATTER, all_acks_lost, losses_advice, timeout_share
from tcptutor.analysis.expected.lossless import FEW_SEGMENTS, UDP_ERROR
from tcptutor.analysis.expected.window import start_seconds, startup_share
from tcptutor.base import sizes, units
from tcptutor.base.causes import CAUSE_NAMES, LimitedBy
from tcptutor.run import sum_or_none
from tcptutor.spec import Experiment
from tcptutor.theory.models import LOSS_BLIND, MODELLED, ThroughputModel

SMALL = 0.03
"""Relative difference that needs no reason."""

_SUPER_PACKET = 2
"""Retransmissions per loss from which offloads matter."""

_OTHER_CONSTANT = 0.1
"""Relative difference of two constants that is worth a sentence."""


def cause_text(limited_by: LimitedBy) -> str:
    """Return the cause that limited the flows instead, as text."""
    growing = limited_by == "growing"
    return "the window was still growing" if growing else f"that was {CAUSE_NAMES[limited_by]}"


def reason(diff: Difference) -> str:
    """Return the first reason that explains the difference; empty if it is small, capped, or unexplained."""
    if diff.measured.throughput <= 0 or abs(diff.ratio - 1) <= SMALL or diff.is_capped:
        return ""
    return next((text for rule in RULES if (text := rule(diff))), "")


def super_packets(diff: Difference) -> str:
    """Check for offloads: netem drops an offloaded packet as a single loss, so the models count too many."""
    retransmits, losses = diff.measured.retransmits, diff.measured.losses
    segments_per_loss = retransmits / losses if retransmits is not None and losses else 0.0
    if (
        not diff.model.is_of_loss
        or not diff.case.experiment.hosts.offloads
        or segments_per_loss < _SUPER_PACKET
    ):
        return ""
    if not diff.explains(math.sqrt(segments_per_loss)):
        return ""
    return f"offloads: one loss takes a packet of {segments_per_loss:.0f} segments, and the model counts each one"


def other_times(diff: Difference) -> str:
    """Check for flows that ran for a different time than planned."""
    run, spans = diff.measured.run, diff.measured.spans
    experiment = run.experiment
    if not spans or experiment.flows.bytes is not None:
        return ""
    total = experiment.total_streams
    planned = [
        max(0.0, _planned_end(experiment, flow) - max(experiment.start(flow), experiment.flows.warmup))
        for flow in range(total)
    ]
    active_seconds = math.fsum(end - start for start, end in spans.values())
    if not diff.explains(active_seconds / max(math.fsum(planned), 1e-9)):
        return ""
    if len(spans) != total:
        return f"{len(spans)} of {total} flows were measured"
    for flow, (start, end) in spans.items():
        if flow < total and end - start < 0.9 * planned[flow] - 0.25 and run.complete:
            return f"flow {flow + 1} was there for {end - start:.2g} of {planned[flow]:.2g} s"
    return ""


def _planned_end(experiment: Experiment, flow: int) -> float:
    end = experiment.end(flow)
    return experiment.seconds if end is None else end


def not_modelled(diff: Difference) -> str:
    """Check for Reno's model applied to a different algorithm."""
    others = diff.case.algorithms - {"reno"}
    if diff.model.algorithm != "reno" or not others:
        return ""
    name = min(others)
    if name in LOSS_BLIND:
        return f"{name} does not take a loss for congestion: this is what Reno would get"
    if name not in MODELLED:
        return f"there is no model of {name} here: this is what Reno would get"
    own = f", and {name} has a model of its own" if diff.model.is_of_loss else f", not {name}"
    return f"this is what Reno would get{own}"


def other_window(diff: Difference) -> str:
    """Check the receiver's window, which the kernel rounds and bounds from below."""
    requested, evidence = diff.case.receive_window, diff.verdict.evidence
    if (
        diff.model is not ThroughputModel.WINDOW
        or not requested
        or not evidence
        or not evidence.receiver_window_bytes
    ):
        return ""
    advertised = evidence.receiver_window_bytes
    text = f"the receiver advertised {sizes.decimal(advertised)}, not {sizes.decimal(requested)}"
    return text if diff.explains(advertised / requested) else ""


def whole_segments(diff: Difference) -> str:
    """Check for a window of few segments: only full segments are sent, and an odd last ACK is delayed."""
    window, mss = diff.case.receive_window, diff.case.mss
    under_way = [each.mean("unacked") for each in diff.measured.intervals]
    if diff.model is not ThroughputModel.WINDOW or not window or diff.ratio > 1 or not any(under_way):
        return ""
    segments, most = window // mss, max(under_way)
    # The formula already counts small windows in full segments, and only the window may be the limit.
    if diff.verdict.limited_by != "receive-window" or segments < FEW_SEGMENTS:
        return ""
    # Data in flight must not exceed the full segments, and must explain the missing rate.
    if most > segments + 0.1 or not any(
        diff.explains(max(1, fit) * mss / window) for fit in (segments, most)
    ):
        return ""
    return f"{segments} whole segments fit into {sizes.decimal(window)}, and {most:.3g} were under way on average"


def unchecked_writes(diff: Difference) -> str:
    """Check for writes of partial segments, which let the sender exceed its send buffer."""
    write, size = diff.case.experiment.write, diff.case.experiment.hosts.send_buffer
    if (
        diff.model is not ThroughputModel.SEND_BUFFER
        or write is None
        or diff.case.full_write
        or diff.ratio < 1
    ):
        return ""
    if size is None or not diff.evidence or diff.evidence.send_buffer_bytes <= size:
        return ""
    held = sizes.decimal(diff.evidence.send_buffer_bytes)
    return f"{sizes.decimal(write)} are no whole segments: the kernel adds to what is left of them, {held} in all"


def queueing(diff: Difference) -> str:
    """Check for an RTT above the path's, from queueing or other delays."""
    if not diff.evidence or not diff.model.is_by_round_trip:
        return ""
    rtt = diff.evidence.mean_rtt_s
    if rtt is None:
        return ""
    path = math.fsum(flow.rtt for flow in diff.case.flows) / max(1, diff.case.flow_count)
    if rtt <= 1.1 * path or not diff.explains(path / rtt):
        return ""
    queued = ": queues formed" if diff.evidence.queueing_s >= (rtt - path) / 2 else ""
    return f"the RTT was {units.seconds(rtt)}, not the path's {diff.case.rtt_text(path)}{queued}"


def more_losses(diff: Difference) -> str:
    """Check for queue overflows in addition to the random losses."""
    p, measured_rate = diff.case.loss_rate, diff.measured.loss_rate
    if (
        not diff.model.is_of_loss
        or measured_rate is None
        or measured_rate <= 1.3 * p
        or not diff.explains(math.sqrt(p / measured_rate))
    ):
        return ""
    measured, expected = units.percent(measured_rate, 2), units.percent(p)
    return f"{measured} of the segments met a loss event, more than the path's {expected}"


def lost_acks(diff: Difference) -> str:
    """Check for lost ACKs: a single lost ACK is harmless, but a window without any ACK costs a timeout."""
    window = diff.case.window_at(diff.measured.throughput)
    chance = all_acks_lost(diff.case, window) if diff.case.ack_loss else 0.0
    if not diff.model.is_by_round_trip or chance < ACKS_MATTER or not diff.explains(1 - diff.stalled):
        return ""
    took = units.percent(diff.stalled, 2)
    return f"every ACK of a window is lost once in {1 / chance:.2g}, and waiting for timeouts took {took} of the time"


def timed_out(diff: Difference) -> str:
    """Check for timeouts, which Mathis omits and Padhye overestimates for Linux."""
    if not diff.model.is_of_loss or not diff.case.loss_rate:
        return ""
    if diff.model is ThroughputModel.PADHYE:
        share = timeout_share(diff.case)
        if diff.stalled >= share or not diff.explains((1 - diff.stalled) / (1 - share)):
            return ""
        measured, padhye = units.percent(diff.stalled, 2), units.percent(share, 2)
        return (
            f"timeouts took {measured} of the time, Padhye has {padhye}: Linux has RACK and tail loss probes"
        )
    if diff.model.has_timeouts or not diff.explains(1 - diff.stalled):
        return ""
    measured = units.percent(diff.stalled, 2)
    return f"waiting for timeouts took {measured} of the time, which this model leaves out"


def loss_constant(diff: Difference) -> str:
    """Check the constant of Mathis's formula against Linux's Reno at this loss rate."""
    c = diff.model.constant
    law = next((one for one in diff.expectation.predictions if one.model is ThroughputModel.RENO), None)
    if c is None or law is None:
        return ""
    factor = (law.uncapped_bps or law.throughput_bps) / diff.prediction.throughput_bps
    if abs(factor - 1) < _OTHER_CONSTANT or not diff.explains(factor):
        return ""
    what = "C is left out" if c == theory.MATHIS_MANUAL else f"C = {c:.3g} is for large windows"
    more = f"{units.percent(abs(factor - 1), 2)} {'more' if factor > 1 else 'less'}"
    return f"{what}: Reno as in Linux has {c * factor:.3g} here, {more}"


def cubic_random(diff: Difference) -> str:
    """Check the spacing of losses, which RFC 9438 assumes to be even, and the rounding of small windows."""
    if diff.model is not ThroughputModel.CUBIC_PERIODIC or not diff.case.loss_rate:
        return ""
    path = (diff.case.loss_rate, diff.case.rtt)
    factor = theory.cubic_random_window(*path) / theory.cubic_window(*path)
    if not diff.explains(factor):
        return ""
    if factor > 1:
        return f"RFC 9438 spaces losses evenly: random ones let CUBIC run {units.percent(factor - 1, 2)} above it"
    return f"RFC 9438 has a smooth window: Linux's whole segments keep CUBIC {units.percent(1 - factor, 2)} below it"


def few_losses(diff: Difference) -> str:
    """Check whether the few losses make the difference plausible by chance."""
    events = diff.measured.losses
    if not diff.model.is_of_loss or events is None or events >= ENOUGH_LOSSES:
        return ""
    if abs(diff.ratio - 1) > 1 / math.sqrt(max(events, 1)) + diff.prediction.tolerance:
        return ""
    flows = diff.case.experiment.flows
    if flows.bytes is not None:
        return f"too few losses ({events}): let the flows send more bytes"
    return f"too few losses ({events}){losses_advice(flows.duration, max(events, 1))}"


def udp_share(diff: Difference) -> str:
    """Check for a UDP share of the link that differs from the plan."""
    run, rate, planned = diff.measured.run, diff.case.rate, diff.case.udp_rate
    received = sum_or_none(flow.received_bps for flow in diff.measured.udp)
    if not diff.model.is_of_link or not planned or not rate or not received:
        return ""
    flows = run.experiment.flows
    payload = run.experiment.pairs * flows.udp_streams * flows.udp_rate
    remaining = (rate - received * planned / max(1.0, payload)) * diff.case.payload_ratio
    factor = remaining / diff.prediction.throughput_bps
    if abs(factor - 1) < UDP_ERROR or not diff.explains(max(0.0, factor)):
        return ""
    return f"the UDP flows got {units.rate(received)}, not {units.rate(payload)}"


def short_buffer(diff: Difference) -> str:
    """Check for a buffer below the BDP, which lets the link idle after each cut."""
    x, case = diff.case.buffer_ratio, diff.case
    if (
        diff.model is not ThroughputModel.LINK
        or x is None
        or x >= 1
        or case.loss_rate
        or case.algorithm != "reno"
    ):
        return ""
    start, end = diff.measured.span
    dry = [row.bytes == 0 for row in diff.measured.run.queue if start <= row.t <= end]
    cut = diff.evidence is not None and bool(diff.evidence.retransmits or diff.evidence.marks)
    if not cut or (dry and not any(dry)) or not diff.explains(used := case.sawtooth_utilization(x)):
        return ""
    unused = units.percent(1 - used, 2)
    if case.qdisc == "fifo":
        return f"a queue of {x:.2g} BDP runs dry after each loss, and Reno leaves {unused} of the link"
    # Here the limit is the discipline's target, not the queue's size.
    name = KEEP_SHORT.get(case.qdisc, case.qdisc)
    has_marks = bool(
        diff.measured.mark_cuts or (diff.evidence and diff.evidence.marks and not diff.evidence.retransmits)
    )
    has_losses = bool(diff.measured.losses and diff.evidence and diff.evidence.retransmits)
    what = "cut" if has_marks and has_losses else "mark" if has_marks else "loss"
    queue = f"{name} allows a queue of {x:.2g} BDP"
    return f"{queue}: it runs dry after each {what}, and Reno leaves {unused} of the link"


def without_sack(diff: Difference) -> str:
    """Check for recovery without SACK, which repairs one loss per RTT."""
    is_one_by_one = diff.evidence is not None and repairs_one_by_one(diff.case, diff.evidence)
    if not is_one_by_one or diff.ratio > 1 or diff.is_within_tolerance:
        return ""
    return "without SACK a round trip repairs one lost segment, which this model leaves out"


def shuffled(diff: Difference) -> str:
    """Check for reordered segments that the sender takes for lost; no model covers them."""
    path, evidence = diff.case.path, diff.evidence
    within = diff.is_within_tolerance and diff.prediction.tolerance < 1
    if (
        diff.ratio > 1
        or within
        or evidence is None
        or not evidence.reordered
        or not (path.jitter or path.reorder)
    ):
        return ""
    if path.jitter:
        return f"jitter of {units.seconds(path.jitter)} reorders segments, which this model leaves out"
    return f"{units.percent(path.reorder)} of the segments overtake others, which this model leaves out"


def framing(diff: Difference) -> str:
    """Check the framing overhead: the shaper counts the Ethernet header, a wire also FCS, preamble and gap."""
    limited, payload, ratio = diff.prediction.limited_by, diff.case.segment, diff.case.payload_ratio
    if limited not in ("bottleneck", "pacing") or diff.ratio > 1:
        return ""
    wire = payload / ratio - theory.EMULATED_FRAMING + theory.WIRE_FRAMING
    imported = diff.measured.run.environment.backend == "imported"
    if imported and limited == "bottleneck" and abs(diff.ratio - payload / wire / ratio) < 0.01:
        return f"a real wire spends 38 bytes on a frame, not 14: {units.percent(payload / wire)} of it is payload"
    if diff.model is ThroughputModel.PACING and abs(diff.ratio - ratio) < 0.01:
        return f"headers: {units.percent(ratio)} of a frame is payload"
    return ""


def slow_start(diff: Difference) -> str:
    """Check for a warm-up too short for the flows to reach their steady state."""
    experiment, throughput = diff.case.experiment, diff.prediction.throughput_bps
    if diff.prediction.limited_by == "random-loss" or diff.ratio > 1 or experiment.flows.bytes is not None:
        return ""
    share, takes = startup_share(diff.case, throughput), start_seconds(diff.case, throughput)
    if share < SMALL / 2 or takes > experiment.seconds or not diff.explains(max(1e-3, 1 - share)):
        return ""
    if not diff.faster_later:
        return ""
    warmup = experiment.flows.warmup
    missing = units.percent(share, 2)
    start = f"the start takes {units.seconds(takes, 2)}, the warm-up {warmup:g} s"
    return f"{start}: up to {missing} of the mean is missing"


def acks_in_the_way(diff: Difference) -> str:
    """Check for a reverse path that cannot carry the ACKs of a larger window."""
    full = diff.evidence is not None and acks_fill_return_path(diff.case, diff.evidence)
    if not full or diff.ratio > 1 or not diff.model.is_of_link:
        return ""
    return f"the reverse path, {units.rate(diff.case.path.reverse_rate or 0.0)}, has no room for more acknowledgements"


def other_limit(diff: Difference) -> str:
    """Check whether a different limit stopped the flows below this prediction."""
    cause = diff.verdict.limited_by
    if diff.ratio > 1 or diff.is_within_tolerance or cause == "unexplained":
        return ""
    if (
        diff.model is ThroughputModel.PACING
        and (diff.case.fq_rate or math.inf) < diff.prediction.throughput_bps
    ):
        return "not the limit: fq has the lower pace" if cause == "pacing" else ""
    return "" if diff.covers(cause) else f"not the limit: {cause_text(cause)}"


RULES: tuple[Callable[[Difference], str], ...] = (
    super_packets,
    other_times,
    not_modelled,
    without_sack,
    shuffled,
    other_window,
    whole_segments,
    unchecked_writes,
    queueing,
    more_losses,
    lost_acks,
    timed_out,
    loss_constant,
    cubic_random,
    few_losses,
    udp_share,
    short_buffer,
    framing,
    slow_start,
    acks_in_the_way,
    other_limit,
)
"""Rules in order: disturbances of the comparison first, then omissions of the model."""
