"""`tcptutor list`: what can be run, and what one module, experiment or parameter is."""

from tcptutor.commands.list.command import list_course

__all__ = ["list_course"]
