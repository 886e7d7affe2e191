"""Implementations of the commands, a file each."""

from tcptutor.commands import grading  # noqa: F401  # adds its commands to the group
from tcptutor.commands.group import main

__all__ = ["main"]
