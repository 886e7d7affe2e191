"""Why a measurement is not what a model said, where it is known: one small function for each reason.

Each looks at one model and gives a short sentence, or nothing when it does not explain that model's difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tcptutor import theory, units
from tcptutor.analysis import sentence
from tcptutor.analysis.case import Case
from tcptutor.analysis.laws import LOSS_BLIND, MATHIS_CONSTANTS, MODELLED
from tcptutor.analysis.limits import receive_window, whole_write
from tcptutor.analysis.lossy import ACKS_MATTER, all_acks_lost, timeouts
from tcptutor.analysis.model import LimitedBy, Prediction, Verdict
from tcptutor.analysis.notes import ENOUGH_LOSSES
from tcptutor.analysis.queues import UDP_ERROR, buffer_ratio, utilisation
from tcptutor.analysis.windows import start_seconds, unsettled
from tcptutor.run import Run

SMALL = 0.03
"""Relative difference that needs no reason."""

_LEFT = 2 / 3
"""Share of a difference that may be left for a reason to explain it."""

_SUPER_PACKET = 5
"""Segments sent again for each loss from which on an offload is the cause (the lab's own check)."""

RENO = frozenset({*MATHIS_CONSTANTS, "padhye"})
LOSS_MODELS = RENO | {"cubic", "cubic-periodic", "htcp", "highspeed", "own"}
_BY_RTT = LOSS_MODELS | {"window", "send-buffer", "socket-buffer", "buffer"}
"""Models with the round trip under the bar."""

_WITHOUT_TIMEOUTS = LOSS_MODELS - {"padhye"}


@dataclass(frozen=True)
class Seen:
    """What a run showed, as far as reasons need it."""

    run: Run
    case: Case
    throughput: float
    """Of all flows together, bit/s."""
    loss_rate: float
    """Loss events per segment; the next, how many."""
    loss_events: int
    verdict: Verdict
    spans: dict[int, tuple[float, float]]
    """From when to when each flow was measured, s."""
    binding: str
    """The model that was expected to bind."""

    def ratio(self, prediction: Prediction) -> float:
        return self.throughput / prediction.throughput_bps

    def evidence(self, name: str) -> float:
        """A number of the verdict; 0 where it has none."""
        return float(self.verdict.evidence.get(name, 0))

    def explained(self, prediction: Prediction, factor: float) -> bool:
        """Whether the measurement is nearer to `factor` times the prediction than to the prediction."""
        ratio = self.ratio(prediction)
        if ratio <= 0 or factor <= 0:
            return False
        return abs(math.log(ratio / factor)) < _LEFT * abs(math.log(ratio))


def reason(prediction: Prediction, seen: Seen) -> str:
    """The first reason that explains the difference; empty when it is small or none is known."""
    if seen.throughput <= 0 or abs(seen.ratio(prediction) - 1) <= SMALL:
        return ""
    return next((said for rule in RULES if (said := rule(prediction, seen))), "")


def super_packets(prediction: Prediction, seen: Seen) -> str:
    """netem drops what an offload has joined as one packet: fewer losses than the models count."""
    each = float(seen.run.fidelity.checks.get("segments a loss", 0) or 0)
    offloads = seen.run.experiment.hosts.offloads
    if prediction.model not in LOSS_MODELS or not (offloads or each > _SUPER_PACKET):
        return ""
    many = f"{each:.0f} segments" if each > _SUPER_PACKET else "many segments"
    return f"offloads: one loss takes a packet of {many}, and the model counts each one"


def other_window(prediction: Prediction, seen: Seen) -> str:
    """The kernel rounds a window by its scale, and gives a buffer at least."""
    asked, got = receive_window(seen.case), seen.evidence("receiver_window_bytes")
    if prediction.model != "window" or not asked or not got or not seen.explained(prediction, got / asked):
        return ""
    return f"the receiver advertised {units.size(got)}, not {units.size(asked)}"


def whole_segments(prediction: Prediction, seen: Seen) -> str:
    """A window is used in full segments, and a receiver that has got an odd one waits for another before its ACK."""
    window, mss = receive_window(seen.case), seen.case.mss
    if prediction.model != "window" or not window or seen.ratio(prediction) > 1:
        return ""
    whole = window // mss
    if not any(seen.explained(prediction, max(1, fit) * mss / window) for fit in (whole, whole - 1)):
        return ""
    return f"{whole} whole segments fit into {units.size(window)}, and the ACK of the last one may wait for another"


def unchecked_writes(prediction: Prediction, seen: Seen) -> str:
    """More than the send buffer holds is under way where the application's writes are no whole segments."""
    write = seen.case.experiment.write
    if (
        prediction.model != "send-buffer"
        or write is None
        or whole_write(seen.case)
        or seen.ratio(prediction) < 1
    ):
        return ""
    return f"{units.size(write)} are no whole segments: the kernel adds to what is left of them unchecked"


def queueing(prediction: Prediction, seen: Seen) -> str:
    """A queue makes the round trip longer than the path's."""
    rtt, path = seen.evidence("mean_rtt_s"), seen.case.rtt
    longer = rtt > 1.1 * path
    if prediction.model not in _BY_RTT or not longer or not seen.explained(prediction, path / rtt):
        return ""
    return f"the RTT was {units.seconds(rtt)}, not the path's {seen.case.rtt_text()}: queues formed"


def more_losses(prediction: Prediction, seen: Seen) -> str:
    """The queue overflows beside the random losses."""
    p = seen.case.loss_rate
    if prediction.model not in LOSS_MODELS or seen.loss_rate <= 1.3 * p:
        return ""
    if not seen.explained(prediction, math.sqrt(p / seen.loss_rate)):
        return ""
    return f"{units.percent(seen.loss_rate, 2)} was lost, more than the path's {units.percent(p)}"


def few_losses(prediction: Prediction, seen: Seen) -> str:
    """Chance alone may explain it."""
    if prediction.model not in LOSS_MODELS or seen.loss_events >= ENOUGH_LOSSES:
        return ""
    if abs(seen.ratio(prediction) - 1) > 1 / math.sqrt(max(seen.loss_events, 1)) + prediction.tolerance:
        return ""
    seconds = seen.case.experiment.flows.duration * ENOUGH_LOSSES / max(seen.loss_events, 1)
    return f"too few losses ({seen.loss_events}): run for {5 * math.ceil(seconds / 5)} s"


def loss_constant(prediction: Prediction, seen: Seen) -> str:
    """Mathis's constant is another for another pattern of loss."""
    c = MATHIS_CONSTANTS.get(prediction.model)
    if c is None or prediction.model == "mathis" or not seen.case.algorithms <= {"reno", "cubic"}:
        return ""
    right = MATHIS_CONSTANTS["mathis"]
    if not seen.explained(prediction, right / c):
        return ""
    even = prediction.model == "mathis-periodic"
    what = f"C = {c:.3g} is for evenly spaced losses" if even else "C is left out"
    return f"{what}: for random ones it is {right:.3g}, {units.percent(right / c - 1, 2)} more"


def cubic_random(prediction: Prediction, seen: Seen) -> str:
    """Independent losses let CUBIC's window get higher than even ones, and its whole segments take from small ones."""
    if prediction.model != "cubic-periodic":
        return ""
    path = (seen.case.loss_rate, seen.case.rtt)
    factor = theory.cubic_random_window(*path) / theory.cubic_window(*path)
    if not seen.explained(prediction, factor):
        return ""
    if factor > 1:
        return f"RFC 9438 spaces losses evenly: random ones let CUBIC run {units.percent(factor - 1, 2)} above it"
    return f"RFC 9438 has a smooth window: Linux's whole segments keep CUBIC {units.percent(1 - factor, 2)} below it"


def timed_out(prediction: Prediction, seen: Seen) -> str:
    """Mathis and its kin leave timeouts out, and Padhye has more of them than Linux."""
    if prediction.model not in LOSS_MODELS or not seen.case.loss_rate:
        return ""
    share, stalled, ratio = timeouts(seen.case), seen.evidence("stalled"), seen.ratio(prediction)
    if prediction.model == "padhye":
        fewer = ratio > 1 and share > 0.1 and ratio <= 1.5 / (1 - share)
        return "Linux avoids most of Padhye's timeouts: RACK and tail loss probes" if fewer else ""
    if ratio >= 1 or max(share / 2, stalled) < 0.1:
        return ""
    if stalled >= 0.1:
        return (
            f"waiting for timeouts took {units.percent(stalled, 2)} of the time, which this model leaves out"
        )
    return "timeouts count here, which this model leaves out"


def lost_acks(prediction: Prediction, seen: Seen) -> str:
    """Acknowledgements are cumulative: one that is lost costs nothing, all of a window cost a timeout."""
    window = seen.throughput / max(1, seen.case.number) * seen.case.rtt / 8 / seen.case.mss
    chance = all_acks_lost(seen.case, window) if seen.case.ack_loss else 0.0
    if prediction.model not in _BY_RTT or chance < ACKS_MATTER or seen.ratio(prediction) > 1:
        return ""
    return f"in {units.percent(chance, 2)} of the windows every ACK is lost, and then only a timeout goes on"


def not_modelled(prediction: Prediction, seen: Seen) -> str:
    """Reno's model beside flows that are not Reno."""
    others = seen.case.algorithms - {"reno"}
    if prediction.model not in RENO or not others:
        return ""
    name = min(others)
    if name in LOSS_BLIND:
        return f"{name} does not take a loss for congestion: this is what Reno would get"
    if name not in MODELLED:
        return f"there is no model of {name} here: this is what Reno would get"
    return f"this is what Reno would get, and {name} has a model of its own"


def slow_start(prediction: Prediction, seen: Seen) -> str:
    """The warm-up ends before the flows are where the model has them from the beginning."""
    if prediction.limited_by == "random-loss" or seen.ratio(prediction) > 1:
        return ""
    share = unsettled(seen.case, prediction.throughput_bps)
    if share < SMALL / 2 or not seen.explained(prediction, max(1e-3, 1 - share)):
        return ""
    seconds, measured = start_seconds(seen.case, prediction.throughput_bps), seen.case.experiment.flows
    return (
        f"the start takes {units.seconds(seconds, 2)}, the warm-up {measured.warmup:g} s:"
        f" up to {units.percent(share, 2)} of the mean is missing"
    )


def udp_share(prediction: Prediction, seen: Seen) -> str:
    """UDP took another part of the link than it was meant to."""
    rate, planned = seen.case.rate, seen.case.udp
    if prediction.model not in ("link", "sawtooth", "shared", "aqm") or not planned or not rate:
        return ""
    got = math.fsum(flow.received_bps for flow in seen.run.udp)
    if not got:
        return ""
    took = got * planned / max(1.0, _udp_payload(seen))
    left = (rate - took) * seen.case.ratio
    if abs(left / prediction.throughput_bps - 1) < UDP_ERROR or not seen.explained(
        prediction, max(0.0, left) / prediction.throughput_bps
    ):
        return ""
    return f"the UDP flows got {units.rate(got)}, not {units.rate(_udp_payload(seen))}"


def short_buffer(prediction: Prediction, seen: Seen) -> str:
    """The link runs dry after each loss, as the queue does not hold what the window falls below the BDP."""
    x, case = buffer_ratio(seen.case), seen.case
    if (
        prediction.model != "link"
        or x is None
        or x >= 1
        or case.loss_rate
        or seen.verdict.limited_by != "bottleneck"
    ):
        return ""
    if seen.binding == "link" and case.algorithm == "reno":
        return ""
    used = utilisation(case, x)
    if not seen.explained(prediction, used):
        return ""
    return f"a queue of {x:.2g} BDP runs dry after each loss, and Reno leaves {units.percent(1 - used, 2)} of the link"


def framing(prediction: Prediction, seen: Seen) -> str:
    """A shaper counts the Ethernet header, a wire also checksum, preamble and gap; payload is less than either."""
    if prediction.limited_by not in ("bottleneck", "pacing") or seen.ratio(prediction) > 1:
        return ""
    payload = seen.case.full
    wire = payload / seen.case.ratio - theory.EMULATED_FRAMING + theory.WIRE_FRAMING
    on_wire, ratio = payload / wire / seen.case.ratio, seen.ratio(prediction)
    imported = seen.run.environment.backend == "imported"
    if imported and prediction.limited_by == "bottleneck" and abs(ratio - on_wire) < 0.01:
        return f"a real wire spends 38 bytes on a frame, not 14: {units.percent(payload / wire)} of it is payload"
    if prediction.model == "pacing" and abs(ratio - seen.case.ratio) < 0.01:
        return f"headers: {units.percent(seen.case.ratio)} of a frame is payload"
    return ""


def other_times(_prediction: Prediction, seen: Seen) -> str:
    """Flows were there for another time than the experiment says."""
    experiment = seen.run.experiment
    if not seen.spans or experiment.flows.bytes is not None:
        return ""
    if len(seen.spans) != experiment.total_streams:
        return f"{len(seen.spans)} flows were measured, not {experiment.total_streams}"
    for flow, (start, end) in seen.spans.items():
        planned = experiment.seconds - max(experiment.start(flow), experiment.flows.warmup)
        if planned > 0 and end - start < 0.9 * planned - 0.25 and seen.run.complete:
            return f"flow {flow + 1} was there for {end - start:.2g} of {planned:.2g} s"
    return ""


def other_limit(prediction: Prediction, seen: Seen) -> str:
    """A model that would allow more is not wrong: something else stopped the flows."""
    limited = seen.verdict.limited_by
    lower = seen.ratio(prediction) < 1 and limited != prediction.limited_by
    return f"not the limit: that was {NAMES[limited]}" if lower else ""


def _udp_payload(seen: Seen) -> float:
    flows = seen.run.experiment.flows
    return seen.run.experiment.pairs * flows.udp_streams * flows.udp_rate


RULES: tuple[Callable[[Prediction, Seen], str], ...] = (
    super_packets,
    other_times,
    not_modelled,
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
    other_limit,
)
"""In the order in which they are asked: what spoils a comparison before what a model leaves out."""

NAMES: dict[LimitedBy, str] = sentence.NAMES | {"growing": "time: the window was still growing"}
