"""What the command line does and prints, a file a command."""

from tcptutor.commands.group import main

__all__ = ["main"]
