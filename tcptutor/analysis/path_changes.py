"""The path of an experiment at a moment, after the changes until then."""

from __future__ import annotations

import msgspec

from tcptutor.spec import Experiment, Path
from tcptutor.spec.rate_trace import mean_rate


def path_at(experiment: Experiment, moment: float) -> Path:
    """Return the path at `moment`, s, with all changes applied except cuts of the link."""
    path = experiment.path
    for change in experiment.path.all_changes:
        if change.at <= moment + 1e-9 and change.name != "link":
            path = path.after(change)
    return path


def mean_path(experiment: Experiment, moment: float, start: float, end: float) -> Path:
    """Return the path at `moment`, s; a rate that follows a trace is its mean from `start` to `end`, s."""
    path = path_at(experiment, moment)
    if not path.rate_trace or end <= start:
        return path
    return msgspec.structs.replace(path, rate=mean_rate(path.rate_trace, start, end))
