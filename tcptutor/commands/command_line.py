"""The command line: the declarations of `group`, `stored_runs`, `grading` and `teaching`."""

from __future__ import annotations

from tcptutor.commands import grading, stored_runs, teaching  # noqa: F401  # add their commands to the group
from tcptutor.commands.group import main

__all__ = ["main"]
