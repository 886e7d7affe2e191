"""When two experiments are one."""

from __future__ import annotations

import msgspec

from tcptutor.spec import Experiment


def same_settings(one: Experiment, other: Experiment) -> bool:
    """Whether they are the same but for their random numbers, and what they are called."""
    return _settings(one) == _settings(other)


def same_run(one: Experiment, other: Experiment) -> bool:
    """Whether they give the same run in the same lab."""
    return one.seed == other.seed and same_settings(one, other)


def _settings(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, seed=0, title="", sources=())
