"""`tcptutor model`: the models as a calculator, with units in and out."""

from tcptutor.commands.model.command import run_model

__all__ = ["run_model"]
