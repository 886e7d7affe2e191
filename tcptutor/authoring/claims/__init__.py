"""Claims: what a page states about a run, each with what it is of, so that it can be checked.

`claim` is the format. A claim is of something known before any run (`known`) or of something measured (`measured`);
`needs` says which runs that takes, `judge` whether they agree. `problems` is what an author should mend, and
`unclaimed` finds the numbers that no claim is of.
"""

from tcptutor.authoring.claims.judge import FindRun, Judgement, judge
from tcptutor.authoring.claims.needs import (
    BuildExperiment,
    ClaimRun,
    another,
    claim_run,
    is_measured,
    runs,
    seeds,
)
from tcptutor.authoring.claims.problems import problems
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
