"""`tcptutor setup`: install missing parts on this machine."""

from __future__ import annotations

from pathlib import Path

from tcptutor.base.errors import UsageError
from tcptutor.commands.lab import find_lab
from tcptutor.commands.output import print_lines, warn
from tcptutor.install.setup import run_setup
from tcptutor.install.setup_plan import TargetLab


def set_up(assume_yes: bool, again: bool, source: str | None, like: str | None) -> int:
    """Set up this machine and return the exit code. Raises TutorError when setup cannot continue.

    Args:
        assume_yes: Skip confirmations.
        again: Rebuild an existing guest.
        source: A packed lab.
        like: A run, or a lab's fingerprint.
    """
    if source is not None and like is not None:
        raise UsageError("--from and --lab both choose the lab: use only one of them")
    target = TargetLab(Path(source) if source else None, find_lab(like) if like else {})
    return run_setup(lambda line: print_lines([line]), warn, assume_yes, again, target)
