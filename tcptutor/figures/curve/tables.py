"""Tables of a curve in a lesson file; `tcptutor.figures.kinds.curve` has an example."""

from __future__ import annotations

from typing import Literal

import msgspec

ScaleName = Literal["linear", "log"]


class AxisTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Horizontal axis of all panels."""

    of: str
    """Quantity: `time`, or a parameter of the laws."""
    to: str
    """Last value."""
    start: str = msgspec.field(default="", name="from")
    """First value; empty for 0."""
    scale: ScaleName = "linear"
    """Whether equal ratios have equal distances."""
    name: str = ""
    """Name of the axis; by default that of the quantity."""


class PanelTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A panel, from the top: `[[figure.panel]]`."""

    name: str = ""
    """Name of the vertical axis."""
    start: str = msgspec.field(default="", name="from")
    """First value of the vertical axis; by default it fits."""
    to: str = ""
    """Last value of the vertical axis."""
    scale: ScaleName = "linear"
    """Whether equal ratios have equal distances."""
    lines: int = 0
    """Height; 0 leaves it to the number of panels."""


class LineTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A law, measured points, or a level: `[[figure.line]]`."""

    law: str = ""
    """A law of "Laws of curves"."""
    set: dict[str, str] = {}
    """The law's parameters, as `tcptutor model` reads them."""
    shows: str = ""
    """Result of the law; empty for its first."""
    link: str = ""
    """Link with the payload rate that caps the law."""
    label: str = ""
    """Text at its end; with a link, at the law's own part."""
    panel: int = 1
    """Number of its panel, from the top."""
    start: str = msgspec.field(default="", name="from")
    """Where the line begins; by default at the left end."""
    to: str = ""
    """Where the line ends."""
    level: str = ""
    """A height, in place of a law."""
    points: tuple[tuple[str, str], ...] = ()
    """Measured points, each height claimed on the page."""


class MarkTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A point of a line with its label, or a guide: `[[figure.mark]]`."""

    at: str
    """Place on the horizontal axis."""
    text: str
    """Label."""
    line: int = 1
    """Number of the line that it is on, in the order of the file."""
    guide: bool = False
    """True for a line through all panels."""


class RegionTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of the horizontal axis, or the area between a line and a level: `[[figure.region]]`."""

    text: str
    """Label."""
    start: str = msgspec.field(default="", name="from")
    """Left end."""
    to: str = ""
    """Right end."""
    panel: int = 1
    """Number of the panel, from the top."""
    line: int = 0
    """Number of the line, for an area between it and a level."""
    below: str = ""
    """Level above the line: the area is between them."""
    above: str = ""
    """Level below the line: the area is between them."""
