"""Quantities and experiments in words for the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptutor.course.page_record import Sureness

if TYPE_CHECKING:
    from tcptutor.run import Environment
    from tcptutor.spec import Experiment

SURENESS: dict[Sureness, str] = {"guessing": "guessing", "fairly": "fairly sure", "sure": "sure"}


def flows_line(experiment: Experiment) -> str:
    """Return the flows: "h1 → h2, 8 flows", "h1 → h2, 1 UDP flow", "2 pairs, 2 TCP flows, 4 UDP flows"."""
    tcp, udp = experiment.total_streams, experiment.pairs * experiment.flows.udp_streams
    kinds = [(tcp, "TCP flow" if udp else "flow"), (udp, "UDP flow")]
    flows = [f"{number} {kind}{'s' if number > 1 else ''}" for number, kind in kinds if number]
    return ", ".join(["h1 → h2" if experiment.pairs == 1 else f"{experiment.pairs} pairs", *flows])


def recorded(environment: Environment) -> str:
    """Return the origin of a replay, "recorded 2026-11-21 in the guest, …"; empty for other runs."""
    return environment.versions.get("recorded", "") if environment.backend == "replay" else ""


def tolerance(relative: float) -> str:
    """Return "±9 %", with a decimal below 1 %, or "±?" for a model whose accuracy is unknown in this case."""
    if relative >= 1:
        return "±?"
    return f"±{relative * 100:.0f} %" if relative >= 0.01 else f"±{relative * 100:.1f} %"


def duration(seconds: float) -> str:
    """Return an estimated time: "9 s", "12 min", "3.5 h"."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def drawn_by_chance(experiment: Experiment) -> str:
    """Return the effects of the seed: "losses", "chances" of other kinds, or an empty string.

    The seed also decides which of several flows meets a full queue: it seeds the guest's kernel.
    """
    path = experiment.path
    if (
        path.loss
        or path.reverse_loss
        or any(change.name == "loss" and change.value for change in path.changes)
    ):
        return "losses"
    others = path.jitter or path.reorder or path.duplicate or path.qdisc != "fifo"
    return "chances" if others or experiment.total_streams > 1 else ""
