"""The catalog of models: result, unit, formula and source of each, and the notation of their parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tcptutor import theory
from tcptutor.base.errors import ParameterError

Kind = Literal[
    "rate", "time", "size", "ratio", "number", "count", "switch", "rates", "times", "sizes", "numbers", "streams",
    "queue", "names",
]  # fmt: skip
Unit = Literal["rate", "time", "size", "share", "number", "segments", "segments/RTT"]


class Quantity(NamedTuple):
    """A parameter of one or more models."""

    kind: Kind
    meaning: str
    example: str
    """A value as the user writes it."""


QUANTITIES = {
    "alpha": Quantity("number", "segments added each round trip", "1"),
    "b": Quantity("number", "segments that one ACK acknowledges; 1 is Linux, which counts them", "1"),
    "beta": Quantity("number", "fraction of the window left by a loss", "0.5"),
    "buffer": Quantity("size", "size of the bottleneck's queue", "250kB"),
    "buffer_ratio": Quantity("number", "the queue's size over the bandwidth-delay product", "0.5"),
    "c": Quantity("number", "1.2247 for periodic loss, 1.31 for random loss, 1 in the manuals", "1.31"),
    "elapsed": Quantity("time", "since the last loss", "3s"),
    "flows": Quantity("number", "flows that share the bottleneck", "4"),
    "framing": Quantity("size", "bytes a frame adds to the packet: 14 counted by tbf, 38 on a wire", "38"),
    "gain": Quantity("number", "window over bandwidth-delay product", "2"),
    "initial": Quantity("number", "segments of the first window", "10"),
    "link": Quantity("rate", "goodput of the link that the streams share", "100Mbit/s"),
    "longest": Quantity("time", "round trip with the queue full", "80ms"),
    "loss": Quantity("ratio", "loss events per segment", "0.1%"),
    "marking": Quantity("ratio", "ECN marks per segment", "5%"),
    "max_window": Quantity("number", "the receiver's window in segments", "64"),
    "mss": Quantity("size", "payload of a full segment; 1448 for an MTU of 1500", "1448"),
    "mtu": Quantity("size", "the largest IP packet", "1500"),
    "peak": Quantity("number", "window at the last loss, segments", "1000"),
    "power": Quantity("number", "1 at equal loss rates, 2 when all lose together", "1"),
    "rate": Quantity("rate", "of the link", "100Mbit/s"),
    "rates": Quantity("rates", "rate of each flow, separated by commas", "10Mbit/s,20Mbit/s"),
    "rto": Quantity("time", "first retransmission timeout", "250ms"),
    "rtt": Quantity("time", "round-trip time", "50ms"),
    "rtts": Quantity("times", "round trip of each flow, separated by commas", "10ms,40ms"),
    "samples": Quantity("numbers", "numbers or rates, separated by commas", "9.5,10,10.5"),
    "size": Quantity("size", "payload of the transfer", "1MB"),
    "sizes": Quantity("sizes", "segment size of each flow, separated by commas", "1448,1448"),
    "start": Quantity("number", "window just after the loss, segments", "700"),
    "step": Quantity("switch", "yes: marked above a threshold; no: each by chance", "yes"),
    "streams": Quantity(
        "streams", "MSS:RTT:LOSS of each, separated by commas", "1448:70ms:0.01%,1448:70ms:0.01%"
    ),
    "timestamps": Quantity("switch", "whether segments carry TCP's timestamp option", "yes"),
    "window": Quantity("number", "congestion window in segments", "100"),
}
"""Usual meaning of each parameter name; a model can override it."""

WINDOW_BYTES = Quantity("size", "limit of the data in flight, such as the receiver's window", "64KiB")
"""The window of models in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a model."""

    name: str
    quantity: Quantity
    required: bool
    default: Any
    """In the base unit of its kind; None for no default."""


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """A public function of `tcptutor.theory`; name and defaults are those of the function."""

    function: Callable[..., Any]
    unit: Unit
    """Unit of the result, or of each flow's result."""
    gives: str
    """The result in a few words."""
    formula: str
    source: str
    quantities: dict[str, Quantity] = field(default_factory=dict)
    """Parameters whose meaning differs from the usual meaning of their name."""

    @property
    def name(self) -> str:
        return self.function.__name__

    def compute(self, values: Mapping[str, Any]) -> float | list[float]:
        """Return the result, or a result per flow.

        Args:
            values: Arguments by name, in base units.

        Raises:
            ParameterError: The result is not finite.
        """
        try:
            result = self.function(**values)
        except (OverflowError, ZeroDivisionError):
            result = math.inf
        numbers = list(result) if isinstance(result, tuple) else [float(result)]
        if not all(map(math.isfinite, numbers)):
            names = ", ".join(name for name, value in values.items() if value is not None)
            raise ParameterError(
                f"{names}: {self.name} is not finite for these values: use less extreme ones"
            )
        return numbers if isinstance(result, tuple) else numbers[0]

    @property
    def parameters(self) -> tuple[Argument, ...]:
        def argument(name: str, default: Any) -> Argument:
            required = default is inspect.Parameter.empty
            quantity = self.quantities.get(name) or QUANTITIES[name]
            return Argument(
                name=name, quantity=quantity, required=required, default=None if required else default
            )

        given = inspect.signature(self.function).parameters.items()
        return tuple(argument(name, each.default) for name, each in given)


_MATHIS = "Mathis, Semke, Mahdavi, Ott 1997, eq. 3"
_PADHYE = "Padhye, Firoiu, Towsley, Kurose 1998"
_RFC3649 = "RFC 3649, section 5"
_LEITH = "Leith, Shorten 2004"
_CARDWELL = "Cardwell et al.: BBR, ACM Queue 14(5), 2016"
_SAWTOOTH = "the sawtooth from half its peak; Villamizar, Song 1994"
_RENEWAL = "rtt × mean segments / mean seconds from one loss to the next"
_CHAIN = "windows at losses as a Markov chain: Ott, Kemperman, Mathis 1996"
_FRAMES = "IEEE 802.3; RFC 7323"

GROUPS: dict[str, tuple[PublishedModel, ...]] = {
    "Limits that are not congestion control": (
        PublishedModel(theory.window_limited, "rate", "throughput with a fixed window", "8 window / rtt",
              "RFC 7323, section 1.1", {"window": WINDOW_BYTES}),
        PublishedModel(theory.link_limited, "rate", "throughput of a full link", "rate × goodput_ratio", _FRAMES),
        PublishedModel(theory.goodput_ratio, "share", "payload's share of a link",
              "(mtu − headers) / (mtu + framing)", _FRAMES),
        PublishedModel(theory.bdp, "size", "bandwidth-delay product", "rate × rtt / 8", "RFC 7323, section 1.1"),
        PublishedModel(theory.slow_start_duration, "time", "slow start up to a window", "rtt log2(window / initial)",
              "RFC 5681, section 3.1"),
        PublishedModel(theory.completion_time, "time", "duration of a transfer",
              "8 size/rate + rtt + waits for the first ACK of each window, doubling; then losses",
              "Kurose, Ross, TCP delay modeling; Cardwell, Savage, Anderson 2000, eq. 5 to 23"),
    ),
    "One flow and random loss": (
        PublishedModel(theory.mathis, "rate", "Reno's throughput", "8 mss c / (rtt √loss)", _MATHIS),
        PublishedModel(theory.padhye, "rate", "Reno's throughput with timeouts",
              "8 mss min(Wm/rtt, 1/(rtt √(2bp/3) + rto min(1, 3√(3bp/8)) p (1 + 32p²)))",
              f"{_PADHYE}, the approximate model; Hacker 2001, eq. 1"),
        PublishedModel(theory.padhye_full, "rate", "Reno's throughput with timeouts, by the full model",
              "8 mss ((1−p)/p + W + Q/(1−p)) / (rtt (bW/2 + 1) + Q rto f/(1−p))",
              f"{_PADHYE}, the full model"),
        PublishedModel(theory.tfrc, "rate", "fair rate for a sender next to Reno",
              "8 mss / (rtt √(2bp/3) + 4 rtt 3√(3bp/8) p (1 + 32p²))", "RFC 5348, section 3.1"),
        PublishedModel(theory.bbr_throughput, "rate", "BBR's throughput", "rate (1 − loss), loss up to 12 %",
              f"{_CARDWELL}, figure 8"),
    ),
    "Mean window by loss or marks": (
        PublishedModel(theory.aimd_window, "segments", "AIMD(alpha, beta)",
              "√(alpha (1+beta) / (2 (1−beta) loss))", "RFC 9438, eq. 3"),
        PublishedModel(theory.reno_window, "segments", "Reno", "√(3 / (2 loss))", "Mathis et al. 1997, section 2"),
        PublishedModel(theory.reno_random_window, "segments", "Reno as in Linux, random loss",
              _RENEWAL, f"net/ipv4/tcp_cong.c; {_CHAIN}"),
        PublishedModel(theory.cubic_window, "segments", "CUBIC, with its Reno-friendly region",
              "max(cubic_region_window, reno_window)", "RFC 9438, eq. 3 and 5"),
        PublishedModel(theory.cubic_region_window, "segments", "CUBIC's curve alone",
              "(C (3+β) / (4 (1−β)))^¼ (rtt/loss)^¾", "RFC 9438, eq. 5"),
        PublishedModel(theory.cubic_random_window, "segments", "CUBIC as in Linux when segments are lost by chance",
              _RENEWAL, f"net/ipv4/tcp_cubic.c; {_CHAIN}"),
        PublishedModel(theory.htcp_window, "segments", "H-TCP as in Linux",
              "segments sent between two losses = 1/loss", f"{_LEITH}; net/ipv4/tcp_htcp.c"),
        PublishedModel(theory.htcp_random_window, "segments", "H-TCP as in Linux when segments are lost by chance",
              _RENEWAL, f"net/ipv4/tcp_htcp.c; {_CHAIN}"),
        PublishedModel(theory.highspeed_window, "segments", "HighSpeed TCP", "0.12 / loss^0.835", _RFC3649),
        PublishedModel(theory.highspeed_random_window, "segments",
              "HighSpeed TCP as in Linux, random loss", _RENEWAL,
              f"net/ipv4/tcp_highspeed.c; {_CHAIN}"),
        PublishedModel(theory.ecn_window, "segments", "Reno with ECN marks for losses",
              "√((1+beta) / (2 (1−beta) marking))", "RFC 3168, section 6.1.2; RFC 8511 (beta 0.8)"),
        PublishedModel(theory.dctcp_window, "segments", "DCTCP", "2 / marking²; each by chance 2 / marking",
              "Alizadeh et al. 2010, eq. 6; De Schepper et al. 2016, appendix A"),
        PublishedModel(theory.dctcp_marking, "share", "DCTCP's marks, from its window",
              "√(2 / window); each by chance 2 / window", "Alizadeh et al. 2010, eq. 6"),
        PublishedModel(theory.bbr_window, "segments", "BBR's cwnd", "max(4, gain BDP / mss)", _CARDWELL),
    ),
    "Growth and cut": (
        PublishedModel(theory.cubic_curve, "segments", "CUBIC's window after a loss", "C (elapsed − K)³ + peak",
              "RFC 9438, eq. 1"),
        PublishedModel(theory.cubic_k, "time", "until CUBIC is back at its peak", "∛((peak − start) / C)",
              "RFC 9438, eq. 2"),
        PublishedModel(theory.htcp_alpha, "segments/RTT", "H-TCP's growth",
              "2 (1−beta) (1 + 10d + (d/2)²), d = elapsed − 1 s", f"{_LEITH}; draft-leith-tcp-htcp-06"),
        PublishedModel(theory.htcp_growth, "segments/RTT", "H-TCP's growth as Linux scales it",
              "2 (1−beta) max(1, rtt/100ms (1 + 10d + (d/2)²))", "net/ipv4/tcp_htcp.c"),
        PublishedModel(theory.htcp_beta, "number", "fraction of H-TCP's window after a loss",
              "rtt / longest, within 0.5 and 0.8", _LEITH),
        PublishedModel(theory.highspeed_growth, "segments/RTT", "HighSpeed TCP's growth",
              "w² p(w) 2 b(w) / (2 − b(w)), p(w) = 0.078 / w^1.2", _RFC3649),
        PublishedModel(theory.highspeed_decrease, "share", "fraction of HighSpeed TCP's window lost per loss",
              "0.5 − 0.4 ln(w/38) / ln(83000/38)", _RFC3649),
    ),
    "Many flows": (
        PublishedModel(theory.aggregate, "rate", "throughput of parallel streams",
              "8 c Σ mss / (rtt √loss), at most the link", "Hacker, Athey 2001, eq. 3 to 5"),
        PublishedModel(theory.shared_utilisation, "share", "use of a link without buffer",
              "1 − 1 / (1 + flows (1+beta) / (1−beta))", "Altman, Barman, Tuffin, Vojnović 2006"),
        PublishedModel(theory.bbr_fraction, "share", "BBR's share next to loss-based flows",
              "(1 − p) (1 − (8 buffer/rate + 0.2 s + rtt)/10 s), p = ½ − 1/(2X) − 4 flows mss/buffer",
              "Ware, Mukerjee, Seshan, Sherry 2019, eq. 9 to 11",
              {"flows": Quantity("number", "BBR flows", "1"),
               "mss": Quantity("size", "bytes of a packet", "1514")}),
        PublishedModel(theory.rtt_shares, "share", "shares of flows with unequal RTTs", "mss / rtt^power, over the sum",
              f"{_MATHIS}; Lakshman, Madhow 1997, section 4"),
        PublishedModel(theory.jain_index, "number", "Jain's fairness index", "(Σx)² / (n Σx²)",
              "Jain, Chiu, Hawe 1984, eq. 1"),
        PublishedModel(theory.coefficient_of_variation, "number", "coefficient of variation",
              "standard deviation / mean", "the definition, of a whole population"),
    ),
    "Queue and sawtooth": (
        PublishedModel(theory.queueing_delay, "time", "queueing delay of a full buffer", "8 buffer / rate",
              "the definition"),
        PublishedModel(theory.buffer_rule, "size", "buffer that keeps a link busy", "rate rtt / (8 √flows)",
              "Villamizar, Song 1994; Appenzeller, Keslassy, McKeown 2004, section 3"),
        PublishedModel(theory.sawtooth_utilisation, "share", "use of a link by one Reno flow",
              "¾ (1+x)² / (1 + x + x²)", _SAWTOOTH),
        PublishedModel(theory.sawtooth_mean, "share", "mean of one Reno flow's window over its peak",
              "¾ without a buffer, 7/9 from one BDP on", _SAWTOOTH),
        PublishedModel(theory.sawtooth_peak, "segments", "window at which the queue overflows", "(BDP + buffer) / mss",
              _SAWTOOTH),
        PublishedModel(theory.sawtooth_period, "time", "between one Reno flow's losses",
              "rtt BDP/mss (1 + x + x²) / 2 for x ≤ 1", _SAWTOOTH),
    ),
}  # fmt: skip
"""Models by topic, in the order of a course."""

MODELS: dict[str, PublishedModel] = {model.name: model for group in GROUPS.values() for model in group}
