"""`tcptutor model`: the models as a calculator with units."""

from tcptutor.commands.model.command import run_model

__all__ = ["run_model"]
