"""Common parts of runs that other programs measured: path, fidelity, samples and unknown columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from tcptutor.base.errors import ParameterError
from tcptutor.base.printable import escaped
from tcptutor.run import SSTHRESH_INFINITE, Environment, Fidelity, Run, Sample
from tcptutor.spec import PARAMETERS, Experiment, Flows, build
from tcptutor.spec.frame_sizes import WIRE_FRAMING

BACKEND = "imported"

USUAL_MSS = 1448
"""Payload of a full segment on Ethernet, bytes, for files without an MSS."""


def new_run(
    program: str,
    file: str,
    *,
    title: str,
    when: datetime,
    kernel: str,
    flows: Flows,
    algorithm: str,
    path: Mapping[str, str],
) -> Run:
    """Return a run without results. Raises ParameterError if `path` has a parameter that the file contains."""
    known = next((name for name in path if name in PARAMETERS and PARAMETERS[name].part == "flows"), None)
    if known is not None:
        raise ParameterError(f"{known}: the file contains this value: leave it out")
    experiment: Experiment = build(f"{BACKEND}/{shown(file)}", {"title": shown(title)}, path)
    origin, algorithm = f"imported from {shown(program)}", shown(algorithm)
    # Set without parsing parameters: their bounds are those of our lab.
    hosts = msgspec.structs.replace(experiment.hosts, algorithm=algorithm or experiment.hosts.algorithm)
    assumed = f"; its link is assumed to be Ethernet, {WIRE_FRAMING} bytes per frame around the IP packet"
    return Run(
        id=f"{when:%Y%m%d-%H%M%S}",
        experiment=msgspec.structs.replace(experiment, flows=flows, hosts=hosts, framing=WIRE_FRAMING),
        environment=Environment(backend=BACKEND, clock="real", kernel=shown(kernel), reason=origin),
        started=when.isoformat(timespec="seconds"),
        fidelity=Fidelity(status="suspect", reasons=(f"{origin}: this lab did not check it",)),
        note=origin + (assumed if experiment.path.rate else ""),
        supplied=tuple(sorted(path)),
    )


def shown(text: str, most: int = 160) -> str:
    """Return text of a file without line breaks, escaped and truncated."""
    return escaped(" ".join(text.split()))[:most]


def moment(seconds: float) -> datetime:
    """Return a wall-clock time from seconds since 1970; the epoch for impossible values."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)


_UNKNOWN_IF_0 = frozenset({"cwnd", "rtt", "rttvar", "snd_wnd", "pacing_rate", "delivery_rate"})
"""Columns of samples where 0 means unknown."""
_ALWAYS_KNOWN = frozenset({"t", "mss", "bytes_acked"})


def foreign_column(run: Run, name: str) -> list[float | int | None]:
    """Return a column of an imported run's samples for export, with None for unknown values."""
    column, flows = run.samples.column(name), run.samples.column("flow")
    if name == "flow":
        return [flow + 1 for flow in flows]
    if name in _ALWAYS_KNOWN:
        return list(column)
    if name in _UNKNOWN_IF_0:
        return [value or None for value in column]
    if name in ("retransmits", "segs_out"):
        known = {flow.flow for flow in run.flows if flow.retransmits is not None}
        return [value if flow in known else None for flow, value in zip(flows, column, strict=True)]
    return [None] * len(column)


def sample(
    flow: int,
    t: float,
    *,
    acked: float,
    mss: int,
    cwnd: float = 0,
    rtt: float = 0.0,
    rttvar: float = 0.0,
    retransmits: float = 0,
    snd_wnd: float = 0,
    pacing_rate: float = 0.0,
    delivery_rate: float = 0.0,
) -> Sample:
    """Return a sample; unknown fields are 0, or infinite for ssthresh."""
    return Sample(
        flow=flow, t=t, cwnd=round(cwnd), ssthresh=SSTHRESH_INFINITE, mss=mss, rtt=rtt, rttvar=rttvar, min_rtt=0.0,
        bytes_acked=round(acked), segs_out=round(acked / mss + retransmits), retransmits=round(retransmits),
        delivery_rate=delivery_rate, pacing_rate=pacing_rate, snd_wnd=round(snd_wnd), ca_state=0, app_limited=False,
        busy=0.0, rwnd_limited=0.0, sndbuf_limited=0.0, reord_seen=0, dsack_dups=0, rto=0.0,
    )  # fmt: skip
