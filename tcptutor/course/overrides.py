"""Overrides of an experiment: the settings in which it differs from its file."""

from __future__ import annotations

import msgspec

from tcptutor.base.errors import TutorError
from tcptutor.course.experiments import Catalogue
from tcptutor.spec import PARAMETERS, Experiment, settings

_FOLLOWING = ("queue", "reverse_queue", "window", "send_buffer", "buffer", "warmup")
"""Settings that follow rate and delay if given in BDP; the warm-up follows a fixed amount to send."""


def overrides_of(experiment: Experiment, catalogue: Catalogue) -> dict[str, str]:
    """Return the settings that differ from the experiment's file, as typed; all if it has no file."""
    here = settings(experiment)
    try:
        own = catalogue.build(experiment.name, scale=experiment.scale)
        changed = differing(experiment, own)
        rest = {name: value for name, value in changed.items() if name not in _FOLLOWING}
        follows = differing(experiment, catalogue.build(experiment.name, rest, scale=experiment.scale))
    except TutorError:
        return here
    # Settings equal to the file's that would now follow an override must be given as well.
    wanted = {**{name: value for name, value in changed.items() if name in rest}, **follows}
    return {name: wanted[name] for name in dict.fromkeys([*here, *changed]) if name in wanted}


def rebuilt(experiment: Experiment, catalogue: Catalogue) -> dict[str, str] | None:
    """Return settings that rebuild exactly this experiment from its file, or None."""
    for given in (overrides_of(experiment, catalogue), settings(experiment)):
        try:
            made = catalogue.build(experiment.name, given, experiment.seed, experiment.scale)
        except TutorError:
            continue
        if same_settings(made, experiment):
            return given
    return None


def differing(one: Experiment, other: Experiment) -> dict[str, str]:
    """Return the settings in which `one` differs from `other`, with the values of `one`."""
    here, there = settings(one), settings(other)
    names = dict.fromkeys([*here, *there])
    return {name: _text(one, name) for name in names if here.get(name) != there.get(name)}


def _text(experiment: Experiment, name: str) -> str:
    """Format a setting, including a built-in default, which `settings` omits."""
    known = PARAMETERS.get(name)
    return known.text(known.of(experiment)) if known else experiment.hosts.sysctls.get(name, "none")


def same_settings(one: Experiment, other: Experiment) -> bool:
    """Return True if both run the same, including the seed."""
    one, other = (msgspec.structs.replace(each, title="", sources=()) for each in (one, other))
    return one == other


def same_but_for_seed(one: Experiment, other: Experiment) -> bool:
    """Return True if both run the same except for their seeds."""
    return same_settings(one, msgspec.structs.replace(other, seed=one.seed))
