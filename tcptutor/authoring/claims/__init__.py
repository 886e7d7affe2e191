"""Claims: statements of a page about runs or formulas, checked against them.

`course.claim` defines the format, `course.figures` the figures. `needs` selects the runs, `judge` compares
them with the claim, `problems` finds mistakes, and `unclaimed` finds numbers without a claim.
"""

from tcptutor.authoring.claims.judge import FindRun, Judgement, judge
from tcptutor.authoring.claims.problems import problems
from tcptutor.authoring.claims.required_runs import (
    BuildExperiment,
    ClaimRun,
    another,
    claim_run,
    is_measured,
    runs,
    seeds,
)
from tcptutor.authoring.claims.unclaimed import settings_of, unclaimed

__all__ = [
    "BuildExperiment",
    "ClaimRun",
    "FindRun",
    "Judgement",
    "another",
    "claim_run",
    "is_measured",
    "judge",
    "problems",
    "runs",
    "seeds",
    "settings_of",
    "unclaimed",
]
