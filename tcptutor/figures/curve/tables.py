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
    start: str = msgspec.field(default="", name="from")
    """First value; empty for 0."""
    scale: ScaleName = "linear"
    name: str = ""


class PanelTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A panel, from the top: `[[figure.panel]]`."""

    name: str = ""
    start: str = msgspec.field(default="", name="from")
    to: str = ""
    scale: ScaleName = "linear"
    lines: int = 0
    """Height; 0 leaves it to the number of panels."""


class LineTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A law, measured points, or a level: `[[figure.line]]`."""

    law: str = ""
    set: dict[str, str] = {}
    """The law's parameters, as `tcptutor model` reads them."""
    shows: str = ""
    """Result of the law; empty for its first."""
    link: str = ""
    """Link with the payload rate that caps the law."""
    label: str = ""
    """Text at its end; with a link, at the law's own part."""
    panel: int = 1
    start: str = msgspec.field(default="", name="from")
    to: str = ""
    level: str = ""
    points: tuple[tuple[str, str], ...] = ()
    """Measured points, each height claimed on the page."""


class MarkTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A point of a line with its label, or a guide: `[[figure.mark]]`."""

    at: str
    text: str
    line: int = 1
    guide: bool = False


class RegionTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of the horizontal axis, or the area between a line and a level: `[[figure.region]]`."""

    text: str
    start: str = msgspec.field(default="", name="from")
    to: str = ""
    panel: int = 1
    line: int = 0
    below: str = ""
    above: str = ""
