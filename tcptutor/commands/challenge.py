"""How the challenge of a page stands, for `tcptutor check`."""

from __future__ import annotations

import msgspec

from tcptutor.commands.journal import opened_journal
from tcptutor.commands.output import print_json, print_lines, toned
from tcptutor.commands.words import count
from tcptutor.course.activities.explore import ExploreActivity
from tcptutor.course.model import Module, Step


def check_challenge(module: Module, step: Step, challenge: ExploreActivity, as_json: bool) -> int:
    """The exit code: 0 when it is reached. By what the journal has of the student's runs; raises JournalError."""
    with opened_journal() as journal:
        record = journal.page(module.id, step.id).activity(challenge.id)
    reached, standing = record.right is not None, challenge.describe_status(record)
    knobs = challenge.knobs_of(record.latest.given) if record.latest else None
    if as_json:
        document = {
            "module": module.id,
            "page": step.id,
            "standing": standing,
            "reached": reached,
            "changes": None if record.best is None else round(record.best),
            "par": challenge.par,
            "runs": record.attempts,
            "knobs": knobs,
        }
        print_json(msgspec.to_builtins(document))
    else:
        sign = toned("✓", "good") if reached else "○"
        lines = [f"{toned(step.title, 'title')}  {sign} {standing}"]
        lines += [f"  {goal.text}" for goal in challenge.goals]
        lines.append(f"  {count(record.attempts, 'run')} that counted; par is {challenge.par}")
        print_lines(lines)
    return 0 if reached else 1
