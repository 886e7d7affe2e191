"""The whole command line: the declarations of `group` and of `grading`."""

from __future__ import annotations

from tcptutor.commands import grading  # noqa: F401  # adds its commands to the group
from tcptutor.commands.group import main

__all__ = ["main"]
