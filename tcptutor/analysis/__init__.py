"""Analysis of a run: model predictions, measured figures, and the verdict on the limiting cause.

`case` holds the facts that both sides use. `expected` predicts an experiment from the models, `observed` measures a
run from its samples, and `compared` joins the two.
"""

from tcptutor.analysis.compared.document import document
from tcptutor.analysis.compared.explain import FlowVerdict, Verdict, explain
from tcptutor.analysis.compared.feedback import answer_of, answered
from tcptutor.analysis.compared.insight import Insight, LimitedTime, Loss, insight
from tcptutor.analysis.compared.report import Compared, Judgement, Report, report, report_of
from tcptutor.analysis.compared.seconds import FairnessSecond, Second
from tcptutor.analysis.compared.what_if import FigureChanged, SettingChanged, SharedHistory, WhatIf, what_if
from tcptutor.analysis.expected.capture import CaptureSize, capture_size
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.expected.meeting import SharedQueue, expect_queue
from tcptutor.analysis.expected.mistakes import Mistake, candidates
from tcptutor.analysis.expected.prediction import Expectation, Prediction, WindowCourse
from tcptutor.analysis.expected.window import window_courses
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.figures import FlowFigures
from tcptutor.analysis.observed.flow import FlowPhase, PhaseName
from tcptutor.analysis.observed.imported import counted_by_sender, is_foreign, is_told, rate_doubt
from tcptutor.analysis.observed.instant import FlowInstant, Instant, Instants, UdpInstant
from tcptutor.analysis.observed.measured import flow_results, measure, path_known, together
from tcptutor.analysis.observed.rounds import RoundTrip, round_trips
from tcptutor.analysis.observed.sequence import (
    ByteSpan,
    SequenceGraph,
    sequence_of_acks,
    sequence_of_packets,
)
from tcptutor.analysis.observed.series import Points, Throughput
from tcptutor.theory.models import LimitedBy, ThroughputModel

__all__ = [
    "ByteSpan",
    "CaptureSize",
    "Compared",
    "Evidence",
    "Expectation",
    "FairnessSecond",
    "FigureChanged",
    "FlowFigures",
    "FlowInstant",
    "FlowPhase",
    "FlowVerdict",
    "Insight",
    "Instant",
    "Instants",
    "Judgement",
    "LimitedBy",
    "LimitedTime",
    "Loss",
    "Mistake",
    "PhaseName",
    "Points",
    "Prediction",
    "Report",
    "RoundTrip",
    "Second",
    "SequenceGraph",
    "SettingChanged",
    "SharedHistory",
    "SharedQueue",
    "Throughput",
    "ThroughputModel",
    "UdpInstant",
    "Verdict",
    "WhatIf",
    "WindowCourse",
    "answer_of",
    "answered",
    "candidates",
    "capture_size",
    "counted_by_sender",
    "document",
    "expect",
    "expect_queue",
    "explain",
    "flow_results",
    "insight",
    "is_foreign",
    "is_told",
    "measure",
    "path_known",
    "rate_doubt",
    "report",
    "report_of",
    "round_trips",
    "sequence_of_acks",
    "sequence_of_packets",
    "together",
    "what_if",
    "window_courses",
]
