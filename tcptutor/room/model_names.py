"""Models that a lecture compares with a run: selection, order and names for the room."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tcptutor.course.step import Step
from tcptutor.theory.models import ThroughputModel

if TYPE_CHECKING:
    from tcptutor.analysis import Prediction

MOST_MODELS = 3
"""Most models to show next to a measurement."""

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
"""Names that are clear without the page, in place of the models' labels."""


def room_name(prediction: Prediction) -> str:
    """Return the name of a prediction's model, with the number of flows from its label."""
    model = prediction.model
    if not model.label or not prediction.label.endswith(model.label):
        return prediction.label
    return prediction.label.removesuffix(model.label) + _NAMES.get(model, model.label)


def shown_models(predictions: Iterable[Prediction], formula: str) -> list[Prediction]:
    """Return the predictions to show: the page's `formula`, then the binding model, then others."""
    ordered = sorted(predictions, key=lambda each: each.model != formula)
    return ordered[:MOST_MODELS]


def page_model(page: Step) -> str:
    """Return the name of a page's model in `ThroughputModel`; empty for a page without a model."""
    run = page.experiment or page.sweep
    return run.model if run is not None else ""
