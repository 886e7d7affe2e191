"""Knobs: parameters of an experiment a student may change, within bounds or among choices."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tcptutor import spec
from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError, UsageError
from tcptutor.course.activity import Problem
from tcptutor.spec import Experiment, Parameter
from tcptutor.spec.parameters import read_sysctl, sysctl_name

_NO_KNOBS = ("changes", "rate_trace", "acks", "duration", "warmup")
"""Parameters of the measurement itself, and `changes`, whose text contains the separator of settings."""


class Knob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Adjustable parameter: `[[challenge.knob]]`, with either `choices` or `low` and `high`."""

    name: str
    """A parameter, or a sysctl with choices."""
    choices: tuple[str, ...] = ()
    """Values to choose from."""
    low: str = ""
    """Smallest value."""
    high: str = ""
    """Largest value."""

    @property
    def parameter(self) -> Parameter | None:
        """None for a sysctl. Raises ParameterError for an unknown name."""
        return None if sysctl_name(self.name) else spec.parameter(self.name)

    @property
    def help(self) -> str:
        """Single-line description."""
        return self.parameter.help if self.parameter else f"sysctl net.ipv4.{self.name} of all hosts"

    @property
    def label(self) -> str:
        """Name on the screen."""
        return self.name if sysctl_name(self.name) else self.name.replace("_", " ")

    def text(self, experiment: Experiment) -> str:
        """Return the knob's value in `experiment` as a student types it; empty for an unset sysctl."""
        if self.parameter is None:
            return experiment.hosts.sysctls.get(self.name, "")
        return self.parameter.text(self.parameter.of(experiment))

    def bounds(self, start: Experiment) -> str:
        """Describe the allowed values on a page that begins with `start`."""
        if self.choices:
            *most, last = self.values(start)
            # A choice with spaces or commas needs a different separator.
            several = any({" ", ","} & set(each) for each in (*most, last))
            return f"{'; '.join(most)}; or {last}" if several else f"{', '.join(most)} or {last}"
        return f"{self.read(self.low, start)} to {self.read(self.high, start)}"

    def values(self, start: Experiment) -> tuple[str, ...]:
        """Return the choices in the format of `text`."""
        return tuple(self._written(choice, start) for choice in self.choices)

    def unit(self, start: Experiment) -> str:
        """Return the unit of a bare number: the unit of the initial value, otherwise the parameter's default."""
        try:
            return units.split(self.text(start))[1]
        except UnitError:
            return units.FIELD_UNITS.get(self.parameter.kind if self.parameter else "", "")

    def read(self, text: str, start: Experiment) -> str:
        """Parse `text` into the format of `Knob.text`.

        Raises:
            UsageError: The page does not allow the value.
        """
        written = self._written(text, start)
        if self.choices:
            if written not in self.values(start):
                raise UsageError(f"{self.label}: {text!r} is not one of {self.bounds(start)}")
            return written
        low, value, high = (self._number(each, start) for each in (self.low, text, self.high))
        if not low <= value <= high:
            bounds = f"{self._written(self.low, start)} to {self._written(self.high, start)}"
            raise UsageError(f"{self.label}: {written} is out of bounds: choose {bounds}")
        return written

    def _number(self, text: str, start: Experiment) -> float:
        return float(spec.read(self.name, text, start.bdp))

    def _written(self, text: str, start: Experiment) -> str:
        if self.parameter is None:
            return read_sysctl(self.name, text)
        return self.parameter.text(spec.read(self.name, text, start.bdp))

    def problems(self, start: Experiment) -> Iterator[Problem]:
        """Yield the key and reason of every mistake on a page that begins with `start`."""
        try:
            known = self.parameter
        except ParameterError as error:
            yield "name", str(error)
            return
        if self.name in _NO_KNOBS:
            yield "name", f"{self.name} cannot be a knob: the page sets it"
        elif bool(self.choices) == bool(self.low or self.high):
            yield "choices", "give choices, or low and high"
        elif not self.choices and not (self.low and self.high):
            yield "low" if self.high else "high", "is missing: a knob has two bounds"
        elif not self.choices and (known is None or known.is_list or known.kind == "name"):
            yield "choices", f"{self.name} has no bounds: give choices"
        else:
            yield from self._value_problems(start)

    def _value_problems(self, start: Experiment) -> Iterator[Problem]:
        try:
            if self.choices:
                values = self.values(start)
                if len(set(values)) < max(len(values), 2):
                    yield "choices", "needs at least two different values"
            elif self._number(self.low, start) >= self._number(self.high, start):
                yield "low", "is not below high"
            if not self.text(start):
                yield "name", f"{self.name} has no initial value: set it for the page"
            else:
                self.read(self.text(start), start)
        except UsageError as error:
            yield "choices" if self.choices else "low", str(error)
