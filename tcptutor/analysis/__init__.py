"""Analysis of a run: model predictions, measured figures, and the verdict on the limiting cause.

`report` calls the passes in order, each with plain results: `observed.measured.measure` and `observed.facts.observe`
read the samples, `expected.expect.expect` predicts the experiment from the models, `compared.verdict.judge` concludes.
`case` holds the values of an experiment that both sides use; `bottleneck` computes those of its link and other traffic.
"""

from tcptutor.analysis.compared.difference import Judgement, ModelComparison
from tcptutor.analysis.compared.episodes import FlowVerdict, Second
from tcptutor.analysis.compared.feedback import Mistake, feedback_text, known_mistakes, prediction_feedback
from tcptutor.analysis.compared.insight import Insight, LimitedTime, Loss, insight
from tcptutor.analysis.compared.latency import Latency
from tcptutor.analysis.compared.latency_text import DelayRow, delay_rows, load_text
from tcptutor.analysis.compared.report import Report, RunFigures, document, report, run_figures
from tcptutor.analysis.compared.verdict import FairnessSecond, Verdict, explain
from tcptutor.analysis.compared.what_if import FigureChanged, SettingChanged, SharedHistory, WhatIf, what_if
from tcptutor.analysis.expected.expect import (
    CaptureSize,
    SharedQueue,
    capture_size,
    expect,
    expect_queue,
    expected_throughput,
)
from tcptutor.analysis.expected.prediction import Expectation, Prediction, WindowTrajectory
from tcptutor.analysis.expected.window import window_trajectories
from tcptutor.analysis.observed.delays import DelayFigures
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.figures import FlowFigures, FlowPhase, PhaseName
from tcptutor.analysis.observed.flight import EventKind, Flight, FlightState, InFlight, SenderEvent, flight
from tcptutor.analysis.observed.instant import (
    FlowInstant,
    Instant,
    Instants,
    Points,
    QueueInstant,
    RoundTrip,
    Throughput,
    UdpInstant,
    round_trips,
)
from tcptutor.analysis.observed.measured import (
    flow_results,
    is_imported,
    is_parameter_known,
    measure,
    total_throughput,
)
from tcptutor.analysis.observed.path_doubt import counted_by_sender, is_path_known, rate_doubt
from tcptutor.analysis.observed.segment_rtt import SegmentRtt, rtts_of_packets
from tcptutor.analysis.observed.sender_reasons import sender_reason
from tcptutor.analysis.observed.sender_response import SenderResponse, sender_response
from tcptutor.analysis.observed.sequence import (
    ByteSpan,
    SequenceGraph,
    sequence_of_acks,
    sequence_of_packets,
)
from tcptutor.base.causes import LimitedBy
from tcptutor.theory.models import ThroughputModel

__all__ = [
    "ByteSpan",
    "CaptureSize",
    "DelayFigures",
    "DelayRow",
    "EventKind",
    "Evidence",
    "Expectation",
    "FairnessSecond",
    "FigureChanged",
    "Flight",
    "FlightState",
    "FlowFigures",
    "FlowInstant",
    "FlowPhase",
    "FlowVerdict",
    "InFlight",
    "Insight",
    "Instant",
    "Instants",
    "Judgement",
    "Latency",
    "LimitedBy",
    "LimitedTime",
    "Loss",
    "Mistake",
    "ModelComparison",
    "PhaseName",
    "Points",
    "Prediction",
    "QueueInstant",
    "Report",
    "RoundTrip",
    "RunFigures",
    "Second",
    "SegmentRtt",
    "SenderEvent",
    "SenderResponse",
    "SequenceGraph",
    "SettingChanged",
    "SharedHistory",
    "SharedQueue",
    "Throughput",
    "ThroughputModel",
    "UdpInstant",
    "Verdict",
    "WhatIf",
    "WindowTrajectory",
    "capture_size",
    "counted_by_sender",
    "delay_rows",
    "document",
    "expect",
    "expect_queue",
    "expected_throughput",
    "explain",
    "feedback_text",
    "flight",
    "flow_results",
    "insight",
    "is_imported",
    "is_parameter_known",
    "is_path_known",
    "known_mistakes",
    "load_text",
    "measure",
    "prediction_feedback",
    "rate_doubt",
    "report",
    "round_trips",
    "rtts_of_packets",
    "run_figures",
    "sender_reason",
    "sender_response",
    "sequence_of_acks",
    "sequence_of_packets",
    "total_throughput",
    "what_if",
    "window_trajectories",
]
