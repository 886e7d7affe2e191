"""`tcptutor setup`: makes this machine ready, and says what it does."""

from __future__ import annotations

from pathlib import Path

from tcptutor.base.errors import UsageError
from tcptutor.commands.lab import lab_of
from tcptutor.commands.output import print_lines, warn
from tcptutor.install.plan import TargetLab
from tcptutor.install.setup import run_setup


class _Printed:
    """What setup tells, printed."""

    def say(self, line: str) -> None:
        print_lines([line])

    def fail(self, line: str) -> None:
        warn(line)

    def ask(self, question: str) -> str:
        return input(question)


def set_up(assume_yes: bool, again: bool, source: str | None, like: str | None) -> int:
    """The exit code. `source`: a packed lab; `like`: a run, or a lab's fingerprint. Raises TutorError when nothing more
    can be done.
    """
    if source is not None and like is not None:
        raise UsageError("--from and --lab each say which lab to make: give one of them")
    target = TargetLab(Path(source) if source else None, lab_of(like) if like else {})
    return run_setup(_Printed(), assume_yes, again, target)
