"""What a run means: measured against expected, why limited, how sure."""

from tcptutor.analysis.case import path_known
from tcptutor.analysis.document import document
from tcptutor.analysis.expect import expect
from tcptutor.analysis.explain import explain
from tcptutor.analysis.measure import flow_results
from tcptutor.analysis.model import (
    Compared,
    Course,
    Expectation,
    FairnessSecond,
    FlowVerdict,
    LimitedBy,
    Phase,
    PhaseName,
    Prediction,
    Report,
    Second,
    Verdict,
)
from tcptutor.analysis.report import report
from tcptutor.analysis.series import Points, Throughput, throughput_series
from tcptutor.analysis.together import together

__all__ = [
    "Compared",
    "Course",
    "Expectation",
    "FairnessSecond",
    "FlowVerdict",
    "LimitedBy",
    "Phase",
    "PhaseName",
    "Points",
    "Prediction",
    "Report",
    "Second",
    "Throughput",
    "Verdict",
    "document",
    "expect",
    "explain",
    "flow_results",
    "path_known",
    "report",
    "throughput_series",
    "together",
]
