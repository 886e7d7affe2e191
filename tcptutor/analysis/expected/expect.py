"""Expectation: the predictions of all applicable models, starting with the binding prediction.

Its note is the most important fact for the student, in a sentence. The shared queue and the size of a capture follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import msgspec

from tcptutor import theory
from tcptutor.analysis.case import ENOUGH_LOSSES, Case, case_of
from tcptutor.analysis.expected.impairments import blind_spots, widen_tolerances
from tcptutor.analysis.expected.links_in_row import expect_shares
from tcptutor.analysis.expected.loss import MOST_LOSS, losses_advice
from tcptutor.analysis.expected.lossless import KERNEL_BUFFER_ERROR, UNKNOWN
from tcptutor.analysis.expected.meeting import limited_flows, queue_capacity
from tcptutor.analysis.expected.prediction import Candidate, Expectation
from tcptutor.analysis.expected.sharing import amount_candidate, bbr_fraction, mean_rates, udp_candidate
from tcptutor.analysis.expected.stretches import merge, stretch_cases, stretch_of
from tcptutor.analysis.expected.window import errors_with_start, mean_window
from tcptutor.base import sizes, units
from tcptutor.run import frames
from tcptutor.spec import Experiment
from tcptutor.spec.frame_sizes import ETHERNET_HEADER
from tcptutor.spec.parts import OF_HOSTS
from tcptutor.theory import ACK_EVERY, BBR_LOSS_HELD
from tcptutor.theory.models import MODELLED, ThroughputModel

_ROUGH = frozenset({ThroughputModel.WINDOW, ThroughputModel.RELATED})
"""Models that give only an upper bound next to a well-known limit."""

WARE_ERROR = 0.3
"""Largest shortfall of a BBR flow's link share against Ware's model in this lab.

In runs of 30 to 110 s with 20 Mbit/s and 40 ms, CUBIC got 0.14, 0.43 to 0.50, 0.54 to 0.60 and 0.67 to 0.70 of the
link at 1, 2, 4 and 8 BDP; the model leaves it 0.03, 0.24, 0.39 and 0.46. In the paper BBR measures the RTT while the
others' full share of the queue is present; here that queue has already drained.
"""

_BLOCK = 32
"""Bytes of pcapng overhead per packet."""

_ACK = 66
"""Bytes of an ACK with its Ethernet header."""

_DATAGRAM = 1448
"""Bytes that iperf3 puts into a datagram."""


def expect(
    experiment: Experiment,
    mss: int | None = None,
    rto: float | None = None,
    on_virtual_clock: bool = False,
) -> Expectation:
    """Return the predictions of all applicable models for `experiment`.

    The binding prediction is the least among the models believed for these algorithms and this path. If the path
    changes or flows start late, it is the mean over the time. Never raises for an experiment from `spec.build`.

    Args:
        experiment: The experiment.
        mss: Measured segment size, bytes; by default the kernel's choice.
        rto: Measured retransmission timeout, s; by default the usual one.
        on_virtual_clock: True if the run is known to use the guest's virtual clock.
    """
    if experiment.link_count > 1:
        return expect_shares(experiment)
    stretches = [stretch_of(case) for case in stretch_cases(experiment, mss, rto, on_virtual_clock)]
    if not stretches:
        return _nothing(experiment)
    is_single = len(stretches) == 1
    stretch = stretches[0] if is_single else merge(stretches)
    finishing, completion = amount_candidate(stretch.case, stretch.believed)
    if finishing is not None:
        finishing = widen_tolerances(stretch.case, [finishing])[0]
        # A short transfer may end before the losses reach their mean; its duration includes them.
        stretch = (stretch.without_losses() if finishing.is_expected else stretch).with_candidate(finishing)
    case, binding, near = stretch.case, stretch.binding, stretch.near
    flows = mean_rates(stretches, binding)
    cwnd = mean_window(case, binding, near) if is_single else None
    link = case.tcp_capacity if is_single else None
    errors = _sure(binding, errors_with_start(case, binding), stretch.believed)
    others = [
        replace(one, errors=errors_with_start(case, one)).prediction(link)
        for one in stretch.candidates
        if one is not binding and math.isfinite(one.throughput)
    ]
    return Expectation(
        predictions=(
            replace(binding, errors=errors).prediction(link),
            *sorted(others, key=lambda one: one.throughput_bps),
        ),
        cwnd_segments=cwnd,
        loss_events=math.fsum(one.case.loss_events(one.binding.throughput) for one in stretches),
        note=note(case, [one.case for one in stretches], binding, near, completion),
        near=tuple(one.model for one in near),
        flows=flows,
        completion_s=completion,
    )


def expected_throughput(experiment: Experiment) -> float:
    """Return the predicted throughput of all TCP flows together, bit/s."""
    return expect(experiment).binding.throughput_bps


def _sure(binding: Candidate, errors: dict[str, float], believed: Sequence[Candidate]) -> dict[str, float]:
    """Return the errors of the binding candidate, widened if a less certain limit may be the lower one.

    Less certain limits are a nearby window in full segments, and the rough law of an algorithm.
    """
    rough = [one for one in believed if one.model in _ROUGH and one is not binding]
    lowest = min((one.throughput * (1 - one.tolerance) for one in rough), default=math.inf)
    below = 1 - lowest / binding.throughput if binding.throughput > 0 else 0.0
    return {**errors, "a limit near": below} if below > binding.tolerance else errors


def _nothing(experiment: Experiment) -> Expectation:
    """Return the expectation without TCP flows: the UDP rate, or the link."""
    datagrams = udp_candidate(experiment)
    rate = case_of(experiment).capacity or experiment.flows.udp_rate
    link = Candidate(ThroughputModel.LINK, "link", rate, "no TCP flow", {"model": 1.0}, "bottleneck")
    return Expectation(
        predictions=((datagrams or link).prediction(None),),
        cwnd_segments=None,
        loss_events=0.0,
        note="" if datagrams else "no TCP flow: the models have nothing to say",
    )


def note(
    case: Case,
    stretches: Sequence[Case],
    binding: Candidate,
    near: Sequence[Candidate],
    completion: float | None,
) -> str:
    """Return the most important note; empty without any."""
    notes = chain(
        _of_time(case, stretches, binding, completion),
        _blind(stretches, binding),
        _unmodelled(stretches, binding),
        _losses(stretches, binding) if binding.is_lossy else (),
        _of_limits(case, binding, near),
        _of_path(case),
        _shares(case, binding),
    )
    return next(notes, "")


def _of_time(
    case: Case, stretches: Sequence[Case], binding: Candidate, completion: float | None
) -> Iterator[str]:
    if binding.model is ThroughputModel.KERNEL_BUFFER and binding.errors["model"] >= KERNEL_BUFFER_ERROR:
        yield "no rate is set: the kernel's buffers are an upper bound, and this computer may be slower"
    seconds = case.experiment.seconds
    if completion is not None and completion + min(flow.start for flow in case.flows) > seconds:
        size = sizes.decimal(case.experiment.flows.bytes or 0)
        yield f"{size} take {units.seconds(completion)}: not done after {seconds:g} s"
    if down := math.fsum(one.seconds for one in stretches if one.is_cut and not one.is_reverse):
        cut, last = units.seconds(down), stretches[-1].is_cut
        until = "to the end" if last else "and the sender notices its return up to as long after it"
        yield f"the link is cut for {cut}, {until}"
    if len({(one.path.rate, one.path.delay, one.path.loss, one.path.queue) for one in stretches}) > 1:
        yield "the path changes while it runs: expected is the mean over the time, no constant"
    elif len(
        {(one.experiment.hosts.mtu, one.algorithms) for one in stretches if not one.is_reverse}
    ) > 1 and any(change.name in OF_HOSTS for change in case.experiment.path.changes):
        yield "the hosts change while it runs: expected is the mean over the time, no constant"
    elif case.experiment.lives and len({one.flow_count for one in stretches if not one.is_reverse}) > 1:
        yield "the number of flows changes: expected is the mean over the time, not the share of each flow"


def _blind(stretches: Sequence[Case], binding: Candidate) -> Iterator[str]:
    """Yield the effects that the binding model leaves out, if they widened its tolerance."""
    for case in stretches:
        for spot in blind_spots(case, binding):
            if binding.errors.get(spot.name, 0.0) > 0:
                yield spot.text


def _unmodelled(stretches: Sequence[Case], binding: Candidate) -> Iterator[str]:
    """Yield notes on algorithms without a model for the experiment's loss."""
    unknown = sorted({name for case in stretches for name in case.algorithms} - MODELLED)
    if unknown and binding.is_lossy:
        yield f"no model of {unknown[0]} under loss here: compared with Reno's"
    if any("bbr" in case.algorithms and case.loss > BBR_LOSS_HELD for case in stretches):
        yield f"no model of BBR above {units.percent(BBR_LOSS_HELD)} loss: its estimate of the rate falls"


def _losses(stretches: Sequence[Case], binding: Candidate) -> Iterator[str]:
    seconds = math.fsum(case.seconds for case in stretches if case.loss_rate)
    losses = math.fsum(case.loss_events(binding.throughput) for case in stretches)
    if losses < ENOUGH_LOSSES and seconds > 0:
        advice = losses_advice(stretches[0].experiment.flows.duration, losses)
        yield f"too few losses ({math.floor(losses)} expected){advice}"
    if max(case.loss_rate for case in stretches) > MOST_LOSS:
        yield f"no model holds above {units.percent(MOST_LOSS)} loss: timeouts that double take most of the time"


def _of_limits(case: Case, binding: Candidate, near: Sequence[Candidate]) -> Iterator[str]:
    if binding.limited_by == "bottleneck" and binding.errors.get("bursts", 0.0) >= UNKNOWN:
        yield f"a queue of {sizes.decimal(case.queue)} drops repairs again and again, which no model here counts"
    if binding.limited_by == "bottleneck" and case.bursts_overflow and not case.can_simulate:
        yield f"a queue of {case.queue // case.frame} frames drops TCP's own bursts: expect less"
    if binding.model is ThroughputModel.MEETING and not binding.is_lossy and case.loss_rate <= 0:
        size = "" if case.buffer_ratio is None else f" of {case.buffer_ratio:.2g} BDP"
        yield f"the queue{size} is too short to keep the link full after each loss"
    elif binding.model is ThroughputModel.MEETING:
        yield "two limits meet here: together they leave less than either alone"
    if not near:
        return
    where = f"{near[0].label} ({units.rate(near[0].throughput)}) is near"
    if len(near) > 1:
        where = f"{near[0].label} and {near[1].label} are near"
    # Random losses blur the border between two regimes; without them the lower limit simply holds.
    if binding.is_lossy or any(one.is_lossy for one in near):
        yield f"{where}: expect a little less than either alone"
    yield f"{where}: a little more and it is the limit"


def _of_path(case: Case) -> Iterator[str]:
    """Yield notes on netem's losses."""
    path = case.path
    if path.loss and path.loss_correlation:
        yield "netem's correlated losses are rarer than their rate says: expect more"


def _shares(case: Case, binding: Candidate) -> Iterator[str]:
    """Yield a note on how different flows share a full link, if a formula exists."""
    if binding.limited_by != "bottleneck" or len(case.algorithms) < 2 or case.is_fair:
        return
    fraction = bbr_fraction(case)
    if fraction is None:
        yield "how these algorithms share the link has no closed form: see the expected windows"
    elif case.buffer_ratio is None or case.buffer_ratio < 1:
        yield f"BBR gets {units.percent(fraction, 2)} (Ware et al. 2019): below 1 BDP it leaves others little"
    else:
        share, less = units.percent(fraction, 2), units.percent(WARE_ERROR, 2)
        yield f"BBR gets {share} (Ware et al. 2019, whose model is for long runs: here up to {less} of the link less)"


class SharedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the time and all flows of the experiment."""

    rtt_s: float
    """RTT including queueing."""
    loss_rate: float
    """Loss events per segment, random and from the full queue."""


def expect_queue(experiment: Experiment) -> SharedQueue | None:
    """Return the expectation of `theory.limited_link`; None without a law for a flow, path or queue.

    Slow start is left out; its losses matter only in a short run, or in a run without warm-up.
    """
    stretches = stretch_cases(experiment)
    if len(stretches) != 1 or experiment.link_count > 1:
        return None
    case = stretches[0]
    if (
        case.tcp_capacity is None
        or case.bursts_overflow
        or not case.can_simulate
        or not case.algorithms <= theory.LIMITED
    ):
        return None
    flows = limited_flows(case)
    rate = case.tcp_capacity / (8 * case.mss)
    if math.fsum(flow.pace for flow in flows) > rate:
        # A pacing rate above the link's share does not limit the flows.
        flows = [replace(flow, pace=math.inf) for flow in flows]
    found = theory.limited_link(flows, rate, queue_capacity(case))
    base = math.fsum(flow.rtt for flow in case.flows) / case.flow_count
    return SharedQueue(rtt_s=base + found.delay, loss_rate=found.loss)


class CaptureSize(msgspec.Struct, frozen=True, kw_only=True):
    """Estimate of an experiment's capture."""

    interfaces: int
    packets: int
    """Captured packets at all interfaces, within the available memory."""
    bytes: int
    """Size of the capture file."""
    left_out: int
    """Packets that exceed the available memory."""

    @property
    def sentence(self) -> str:
        """Estimate such as "about 36000 packets will be kept, in 4.3 MB"."""
        text = (
            f"about {_rounded(self.packets)} packets will be kept, in {sizes.decimal(_rounded(self.bytes))}"
        )
        if self.left_out:
            text += f"; for the last {_rounded(self.left_out)} there is no room: take a larger capture_size"
        return text


def capture_size(experiment: Experiment) -> CaptureSize | None:
    """Return the estimate for `experiment`; None if it captures no packets."""
    names = experiment.captured_interfaces
    if not names:
        return None
    blocks, in_block = frames.ring_shape(
        experiment.flows.capture_size // len(names), experiment.flows.snaplen
    )
    data, acks = _expected_packets(experiment)
    packets = size = left_out = 0
    for name in names:
        # A host sees its own pair's packets; switches see all packets, except on ports that face a host.
        share = 1 / experiment.pairs if _of_one_pair(name, experiment.pairs) else 1.0
        total = share * (data + acks)
        fitting = min(total, blocks * in_block)
        packets += round(fitting)
        left_out += round(total - fitting)
        size += round(
            fitting
            / max(total, 1.0)
            * share
            * (data * _stored_bytes(experiment, None) + acks * _stored_bytes(experiment, _ACK))
        )
    return CaptureSize(interfaces=len(names), packets=packets, bytes=size, left_out=left_out)


def _rounded(number: int) -> int:
    """Return `number` rounded to two significant digits."""
    return round(number, 2 - len(str(number)))


def _expected_packets(experiment: Experiment) -> tuple[float, float]:
    """Return the numbers of data packets and of ACKs over all pairs."""
    flows, seconds = experiment.flows, experiment.seconds
    rate = expect(experiment).binding.throughput_bps if experiment.total_streams else 0.0
    sent = rate * seconds / 8
    if flows.bytes is not None:
        sent = min(sent, float(flows.bytes * experiment.total_streams))
    datagrams = (
        experiment.pairs * flows.udp_streams * flows.udp_rate * seconds / 8 / (flows.length or _DATAGRAM)
    )
    data = sent / experiment.segment
    return data + datagrams, data / ACK_EVERY


def _stored_bytes(experiment: Experiment, length: int | None) -> int:
    """Return the stored bytes of a packet of `length`, by default of a full packet."""
    frame = experiment.hosts.mtu + ETHERNET_HEADER if length is None else length
    return _BLOCK + math.ceil(min(frame, experiment.flows.snaplen) / 4) * 4


def _of_one_pair(name: str, pairs: int) -> bool:
    return pairs > 1 and not name.endswith("-eth1")
