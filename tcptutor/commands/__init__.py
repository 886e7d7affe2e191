"""What the command line does and prints, a file a command."""

from tcptutor.commands import grading  # noqa: F401  # it adds its commands to the group
from tcptutor.commands.group import main

__all__ = ["main"]
