"""What sets an experiment apart from the one in its file: the settings that somebody would have to give to make it."""

from __future__ import annotations

import msgspec

from tcptutor.base.errors import TutorError
from tcptutor.course.experiments import Catalogue
from tcptutor.spec import PARAMETERS, Experiment, settings

_FOLLOWING = ("queue", "reverse_queue", "window", "send_buffer", "buffer", "warmup")
"""They follow the rate and the delay where an experiment gives them in BDP, and the warm-up a fixed amount."""


def overrides_of(experiment: Experiment, catalogue: Catalogue) -> dict[str, str]:
    """The settings that are not the experiment's own, as they are typed; all of one that is not the course's."""
    here = settings(experiment)
    try:
        own = catalogue.build(experiment.name, scale=experiment.scale)
        changed = differing(experiment, own)
        rest = {name: value for name, value in changed.items() if name not in _FOLLOWING}
        follows = differing(experiment, catalogue.build(experiment.name, rest, scale=experiment.scale))
    except TutorError:
        return here
    # What stands as in the file, and would follow now, has to be said as well.
    wanted = {**{name: value for name, value in changed.items() if name in rest}, **follows}
    return {name: wanted[name] for name in dict.fromkeys([*here, *changed]) if name in wanted}


def rebuilt(experiment: Experiment, catalogue: Catalogue) -> dict[str, str] | None:
    """Settings that make `experiment` again, to the last bit, of the one in its file; None where there are none."""
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
    """Return a setting as it is typed, also where it has the built-in default, which `settings` leaves out."""
    known = PARAMETERS.get(name)
    return known.text(known.of(experiment)) if known else experiment.hosts.sysctls.get(name, "none")


def same_settings(one: Experiment, other: Experiment) -> bool:
    """Whether both run the same, seed and all."""
    one, other = (msgspec.structs.replace(each, title="", sources=()) for each in (one, other))
    return one == other


def same_but_for_seed(one: Experiment, other: Experiment) -> bool:
    """Whether both run the same, whatever their random numbers."""
    return same_settings(one, msgspec.structs.replace(other, seed=one.seed))
