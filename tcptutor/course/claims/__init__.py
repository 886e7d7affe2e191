"""Claims: what a page states about a run, each with what it is of, so that it can be checked.

`claim` is the format. A claim is of something known before any run (`known`) or of something measured (`measured`);
`needs` says which runs that takes, `judge` whether they agree. `problems` is what an author should mend, and
`unclaimed` finds the numbers that no claim is of.
"""

from tcptutor.course.claims.claim import Claim
from tcptutor.course.claims.judge import FindRun, Judgement, judge
from tcptutor.course.claims.known import least_limit
from tcptutor.course.claims.needs import (
    BuildExperiment,
    ClaimRun,
    PageSetup,
    another,
    claim_run,
    is_measured,
    runs,
    seeds,
)
from tcptutor.course.claims.problems import problems
from tcptutor.course.claims.run_part import MeasuredRun
from tcptutor.course.claims.unclaimed import settings_of, unclaimed

__all__ = [
    "BuildExperiment",
    "Claim",
    "ClaimRun",
    "FindRun",
    "Judgement",
    "MeasuredRun",
    "PageSetup",
    "another",
    "claim_run",
    "is_measured",
    "judge",
    "least_limit",
    "problems",
    "runs",
    "seeds",
    "settings_of",
    "unclaimed",
]
