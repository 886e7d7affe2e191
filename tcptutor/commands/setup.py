"""`tcptutor setup`: makes this machine ready, and says what it does."""

from __future__ import annotations

from tcptutor.commands.output import print_lines, warn
from tcptutor.install.setup import run_setup


class _Printed:
    """What setup tells, printed."""

    def say(self, line: str) -> None:
        print_lines([line])

    def fail(self, line: str) -> None:
        warn(line)

    def ask(self, question: str) -> str:
        return input(question)


def set_up(assume_yes: bool, again: bool) -> int:
    """The exit code. Raises TutorError when nothing more can be done."""
    return run_setup(_Printed(), assume_yes, again)
