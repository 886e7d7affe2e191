"""What came out of one run, and its file."""

from tcptutor.run.cuts import Cut, CutFinder, Cuts, cuts_at
from tcptutor.run.files import load, save
from tcptutor.run.record import (
    FORMAT_VERSION,
    SNAPSHOT,
    TABLES,
    CapturedAt,
    Environment,
    Fidelity,
    FlowResult,
    Run,
    Status,
    UdpResult,
)
from tcptutor.run.samples import (
    CA_STATES,
    SSTHRESH_INFINITE,
    AckSample,
    QueueSample,
    ResentSample,
    Sample,
    SenderSample,
    UdpSample,
    arrived_bytes,
    hystart_exits,
)
from tcptutor.run.tables import AckTable, QueueTable, ResentTable, SampleTable, SenderTable, Table, UdpTable
from tcptutor.run.unknown import mean_of_known, sum_or_none

__all__ = [
    "CA_STATES",
    "FORMAT_VERSION",
    "SNAPSHOT",
    "SSTHRESH_INFINITE",
    "TABLES",
    "AckSample",
    "AckTable",
    "CapturedAt",
    "Cut",
    "CutFinder",
    "Cuts",
    "Environment",
    "Fidelity",
    "FlowResult",
    "QueueSample",
    "QueueTable",
    "ResentSample",
    "ResentTable",
    "Run",
    "Sample",
    "SampleTable",
    "SenderSample",
    "SenderTable",
    "Status",
    "Table",
    "UdpResult",
    "UdpSample",
    "UdpTable",
    "arrived_bytes",
    "cuts_at",
    "hystart_exits",
    "load",
    "mean_of_known",
    "save",
    "sum_or_none",
]
