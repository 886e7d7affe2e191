"""An experiment as the models see it: segment size, round trip, number of flows, goodput of the link."""

from __future__ import annotations

from dataclasses import dataclass

from tcptutor import units
from tcptutor.analysis.model import LimitedBy, Prediction
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.theory import goodput_ratio

PATH_RTT = 1e-4
"""Round trip of the emulated path itself, s: what is left when no delay is added."""

MIN_RTO = 0.2
"""Linux adds at least this to the smoothed RTT for its retransmission timeout, s."""

HEADERS = 52
"""IPv4 and TCP headers with timestamps, bytes: an MTU of 1500 leaves segments of 1448."""


@dataclass(frozen=True)
class Case:
    """The numbers that go into the formulas."""

    experiment: Experiment
    mss: int
    """bytes"""
    rtt: float
    """Without a queue, s."""
    rto: float
    """s"""
    flows: int
    link: float | None
    """Payload that the link carries, bit/s; None when it is not shaped."""

    @property
    def loss(self) -> float:
        return self.experiment.path.loss

    @property
    def buffer_ratio(self) -> float | None:
        """The bottleneck's buffer over the BDP; None without a rate or a delay."""
        bdp = self.experiment.bdp
        return self.experiment.path.queue / bdp if bdp else None

    @property
    def times(self) -> str:
        """ "8 × " before what is true for one flow."""
        return f"{self.flows} × " if self.flows > 1 else ""

    @property
    def rtt_text(self) -> str:
        """The RTT as the student set it, where the path itself adds less than 1 %."""
        delay = self.experiment.path.delay
        return units.seconds(delay if 0.01 * delay > PATH_RTT else self.rtt)

    def loss_events(self, throughput: float) -> float:
        """Random losses to be expected in the measured time at `throughput` bit/s of all flows."""
        return throughput / (8 * self.mss) * self.experiment.flows.duration * self.loss


def case_of(experiment: Experiment, mss: int | None = None, rto: float | None = None) -> Case:
    """The case of `experiment`, with `mss` and `rto` as measured or as the kernel would choose them."""
    rate, mtu = experiment.path.rate, experiment.hosts.mtu
    rtt = experiment.path.delay + PATH_RTT
    return Case(
        experiment=experiment,
        mss=mss or mtu - HEADERS,
        rtt=rtt,
        rto=rto or rtt + MIN_RTO,
        flows=experiment.total_streams,
        link=rate * goodput_ratio(mtu) if rate else None,
    )


def path_known(run: Run) -> bool:
    """Whether the models can be asked: a run from elsewhere tells nothing of its path unless its importer did."""
    return run.environment.backend != "imported" or run.experiment.path.rate is not None


@dataclass(frozen=True)
class Candidate:
    """One model's answer before it is compared with the others'."""

    model: str
    label: str
    throughput: float
    """Of all flows, not capped by the link, bit/s."""
    formula: str
    tolerance: float
    limited_by: LimitedBy
    best: bool = True
    """Whether this is the model of its kind that we believe for this algorithm and path."""

    def prediction(self, link: float | None) -> Prediction:
        """As shown: many lossy flows together get at most the link (Hacker 2001)."""
        capped = link is not None and self.throughput > link and self.limited_by == "random-loss"
        return Prediction(
            model=self.model,
            label=self.label,
            throughput_bps=link if capped and link else self.throughput,
            formula=f"min({units.rate(link)}, {self.formula})" if capped and link else self.formula,
            tolerance=min(1.0, self.tolerance),
            limited_by="bottleneck" if capped else self.limited_by,
        )
