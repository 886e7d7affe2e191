"""Network to draw for a page: the state of its open session, or the page's plan."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from tcptutor.course.step import Step
from tcptutor.figures.kinds.network import NetworkFigure, of_experiment, of_state
from tcptutor.spec import Experiment
from tcptutor.ui.lab_session import LabSession

_PLANNED = "The network as this page sets it up."
_LIVE, _AS_BUILT = "What the kernel holds now.", "The network as it was built."
"""Captions of a network that follows the kernel, and of a network that hides a fault."""


def of_session(session: LabSession, figure: NetworkFigure | None = None) -> NetworkFigure | None:
    """Return the network of the session in progress; None without a session.

    The network follows the state of the kernel, with the interfaces of open goals marked. During a search for a fault,
    return the network as built, without marks, so as not to reveal the fault.

    Args:
        session: The session.
        figure: Figure of the page, which provides marks and notes.
    """
    if not session.in_progress or session.experiment is None:
        return None
    if session.state is None or session.hides_fault:
        built = of_experiment(session.experiment, figure)
        return structs.replace(built, caption=_AS_BUILT) if session.hides_fault else built
    held = of_state(session.state, session.experiment.pairs, figure, _due_interfaces(session))
    return structs.replace(held, caption=_LIVE)


def of_page(step: Step, network: Experiment | None) -> NetworkFigure | None:
    """Return the network of a page without a session; None if the page has none.

    Args:
        step: The page, whose first figure of a network is the last resort.
        network: Network on which the page's terminal opens.
    """
    if network is not None:
        return structs.replace(of_experiment(network, hosts=True), caption=_PLANNED)
    return next((figure for figure in step.figures if isinstance(figure, NetworkFigure)), None)


def _due_interfaces(session: LabSession) -> Iterator[str]:
    for goal in session.board.goals if session.board is not None else ():
        interface = session.goal_interfaces.get(goal.id)
        if interface and goal.due and not goal.ticked:
            yield interface
