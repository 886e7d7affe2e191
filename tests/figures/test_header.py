"""Headers on a ruler of bits, and the parts of a frame."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from tcptutor.figures.header_layouts import LAYOUTS
from tcptutor.figures.kinds.header import HeaderFigure

WIDTHS = (40, 72)


def header(**table: Any) -> HeaderFigure:
    figure = msgspec.convert({"id": "h", "kind": "header", **table}, HeaderFigure)
    assert figure.contradiction() is None
    return figure


def drawn(figure: HeaderFigure, width: int = 72) -> list[str]:
    return [line.text for line in figure.draw(width)]


@pytest.mark.parametrize(("layout", "size"), [("tcp", 20), ("syn-options", 20), ("ipv4", 20), ("udp", 8)])
def test_layouts_have_their_sizes_and_fit(layout: str, size: int) -> None:
    figure = header(layout=layout)
    assert f", {size} bytes: " in figure.describe()
    assert not list(figure.problems())


@pytest.mark.parametrize("width", WIDTHS)
def test_a_box_is_as_wide_as_its_bits(width: int) -> None:
    lines = drawn(header(layout="tcp"), width)
    row = next(line for line in lines if "window" in line)
    edges = [at for at, character in enumerate(row) if character == "│"]
    per_bit = edges[-1] // 32
    assert [edge / per_bit for edge in edges] == [0, 4, 8, 16, 32]
    assert lines[0].index("16") == 16 * per_bit


@pytest.mark.parametrize("width", WIDTHS)
def test_values_are_shown_in_their_boxes(width: int) -> None:
    figure = header(
        layout="tcp", values={"source port": "51314", "destination port": "5201", "flags": "SYN ACK"}
    )
    boxes = re.split(r"[│┃]", "\n".join(drawn(figure, width)))
    for value in ("51314", "5201", "SYN ACK"):
        assert sum(box.strip().endswith(value) for box in boxes) == 1
    assert "source port 51314 (2 bytes)" in figure.describe()


def test_a_marked_field_stands_out_without_colors() -> None:
    heavy = set("━┃")
    assert not heavy & set("".join(drawn(header(layout="udp"))))
    marked = drawn(header(layout="udp", marked=["length"]))
    row = next(line for line in marked if "length" in line)
    assert row.index("┃") < row.index("length") < row.rindex("┃") < row.index("checksum")


def test_own_fields_follow_those_of_the_layout() -> None:
    options = [{"name": "options", "bytes": 20, "value": "mss 1460"}]
    figure = header(layout="tcp", field=options)
    assert "40 bytes" in figure.describe()
    assert "options (20 bytes) mss 1460" in "\n".join(drawn(figure))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_frame_is_made_of_parts_with_their_bytes(width: int) -> None:
    bracket = {"from": "Ethernet", "to": "TCP", "text": "66 bytes of headers"}
    figure = header(layout="frame", bracket=[bracket], to_scale=True)
    lines = drawn(figure, width)
    assert "1514 bytes" in lines[0]
    names, sizes = ([cell.strip() for cell in line.strip("│").split("│")] for line in lines[2:4])
    assert dict(zip(names, sizes, strict=True)) == {"Ethernet": "14", "IP": "20", "TCP": "32", "data": "1448"}
    assert lines[4][len(lines[5]) - 1] == "┴", "the bracket ends with a part"
    shades = lines[-1]
    assert shades.count("█") / (shades.count("█") + shades.count("░")) == pytest.approx(66 / 1514, abs=0.02)
    assert "95.6 % are data" in figure.describe()


def test_the_largest_part_of_a_frame_of_its_own_is_the_light_one() -> None:
    figure = header(field=[{"name": "IP", "bytes": 20}, {"name": "data", "bytes": 180}], to_scale=True)
    shades = drawn(figure)[-1]
    assert shades.count("█") / (shades.count("█") + shades.count("░")) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "a layout or fields"),
        ({"layout": "udp", "marked": ["window"]}, "there is no field 'window'"),
        ({"field": [{"name": "a"}]}, "either bits or bytes"),
        ({"field": [{"name": "a", "bits": 20}, {"name": "b", "bits": 20}]}, "ends in the next one"),
        ({"layout": "udp", "to_scale": True}, "belong to a frame"),
    ],
)
def test_a_table_that_cannot_be_drawn_is_refused(table: dict[str, Any], said: str) -> None:
    figure = msgspec.convert({"id": "h", "kind": "header", **table}, HeaderFigure)
    assert said in (figure.contradiction() or ("", ""))[1]


def test_a_value_without_place_is_reported() -> None:
    assert any(
        "no place" in reason for _, reason in header(layout="tcp", values={"reserved": "zero"}).problems()
    )


def test_layouts_have_distinct_names() -> None:
    for layout in LAYOUTS.values():
        names = [field.name for field in layout.fields]
        assert len(set(names)) == len(names)
