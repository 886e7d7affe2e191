"""The models that a lecture compares a run with: which ones, in which order, and their names for a room."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tcptutor.course.step import Step
from tcptutor.theory.models import ThroughputModel

if TYPE_CHECKING:
    from tcptutor.analysis import Prediction

MOST_MODELS = 3
"""Models next to a measurement at most."""

_NAMES = {
    ThroughputModel.LINK: "full link",
    ThroughputModel.AQM: "Reno at this queue",
    ThroughputModel.BBR: "BBR model",
    ThroughputModel.WINDOW: "receive window / RTT",
    ThroughputModel.SEND_BUFFER: "send buffer / RTT",
    ThroughputModel.SOCKET_BUFFER: "socket buffers / RTT",
    ThroughputModel.KERNEL_BUFFER: "kernel's buffer / RTT",
    ThroughputModel.PACING: "pacing rate",
    ThroughputModel.RENO: "Reno model",
    ThroughputModel.MATHIS: "Mathis formula, C=1.31",
    ThroughputModel.MATHIS_PERIODIC: "Mathis formula",
    ThroughputModel.MATHIS_MANUAL: "Mathis formula, C=1",
    ThroughputModel.PADHYE: "Padhye formula",
    ThroughputModel.CUBIC: "CUBIC model",
    ThroughputModel.HTCP: "H-TCP model",
    ThroughputModel.HIGHSPEED: "HighSpeed model",
}
"""Names that a room understands without the page, in place of labels."""


def room_name(prediction: Prediction) -> str:
    """Return the name of a prediction's model, with the number of flows that its label has."""
    model = prediction.model
    if not model.label or not prediction.label.endswith(model.label):
        return prediction.label
    return prediction.label.removesuffix(model.label) + _NAMES.get(model, model.label)


def shown_models(predictions: Iterable[Prediction], formula: str) -> list[Prediction]:
    """Return the predictions to show: of the page's own `formula`, then the binding one, then others."""
    ordered = sorted(predictions, key=lambda each: each.model != formula)
    return ordered[:MOST_MODELS]


def page_model(page: Step) -> str:
    """Return the model that a page is about, by its name in `ThroughputModel`; empty if it is about none."""
    run = page.experiment or page.sweep
    return run.model if run is not None else ""
