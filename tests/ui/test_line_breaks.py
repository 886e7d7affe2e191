"""Line breaks in the texts of the app."""

import pytest
from textual.content import Content

from tcptutor.ui import line_breaks


@pytest.mark.parametrize("quantity", ["100 ms", "9.56 Mbit/s", "4 KiB", "98 %", "10 segments"])
def test_a_number_and_its_unit_share_a_line_at_every_width(quantity: str) -> None:
    line_breaks.keep_quantities_whole()
    text = Content(f"The window is that of {quantity}, and no more.")
    for width in range(len(quantity) + 1, 40):
        lines = [line.plain.rstrip() for line in text.wrap(width)]
        assert any(quantity in line for line in lines), lines
        assert max(map(len, lines)) <= width


def test_a_quantity_wider_than_the_line_is_broken() -> None:
    line_breaks.keep_quantities_whole()
    assert "".join(line.plain for line in Content("12 Mbit/s").wrap(5)) == "12 Mbit/s"
