"""`tcptutor list`: list modules and experiments, or describe a module, experiment, parameter or term."""

from tcptutor.commands.list.command import list_course

__all__ = ["list_course"]
