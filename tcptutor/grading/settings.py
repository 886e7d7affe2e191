"""Whether a run has the settings of the page that it was made on."""

from __future__ import annotations

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.explore import ExploreActivity
from tcptutor.course.model import Step
from tcptutor.course.overrides import same_but_for_seed
from tcptutor.spec import Experiment


def settings_problem(step: Step, made: Experiment) -> str:
    """Return why the page's activities give no experiment with those settings; empty where one of them does.

    Seeds are not looked at. A page without a run of its own has no settings to compare with.
    """
    if step.experiment is not None:
        known = same_but_for_seed(made, step.experiment.experiment)
    elif step.sweep is not None:
        known = any(same_but_for_seed(made, each) for each in step.sweep.experiments)
    elif step.explore is not None:
        return _knobs_problem(step.explore, made)
    else:
        return ""
    return "" if known else "the run has other settings than the page's"


def _knobs_problem(challenge: ExploreActivity, made: Experiment) -> str:
    try:
        allowed = challenge.experiment_with(challenge.values(made))
    except UsageError as error:
        return f"the run has settings that no knobs give: {error}"
    return "" if same_but_for_seed(made, allowed) else "the run has other settings than its knobs give"
