"""Changes of hosts and flows during a run, in a word or two, for marks in charts."""

from __future__ import annotations

from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.spec import Change, Experiment
from tcptutor.spec.parts import OF_ENDS


def changes_of_ends(experiment: Experiment) -> tuple[tuple[float, str], ...]:
    """Return time, s, and text of each change of the hosts or their flows."""
    return tuple(
        (change.at, _text(change, experiment)) for change in experiment.path.changes if change.name in OF_ENDS
    )


def _text(change: Change, experiment: Experiment) -> str:
    if change.name == "algorithm":
        return algorithm_name(change.algorithm)
    if change.name == "mtu":
        return f"MTU {change.value:g}"
    flows = "1 flow" if change.value == 1 else f"{change.value:g} flows"
    if experiment.pairs == 1:
        return flows
    return f"h{2 * change.pair - 1}: {flows}" if change.pair else f"{flows} each"
