"""What pages leave behind when they are gone."""

from __future__ import annotations

import gc
from typing import Any

from textual.strip import Strip

from .four_modules import four_modules
from .screen import until


def lines() -> int:
    """Drawn lines that something still keeps."""
    gc.collect()
    return sum(type(each) is Strip for each in gc.get_objects())


async def test_no_lines_of_pages_that_are_gone_are_kept(make_app: Any) -> None:
    app = make_app("basics", of=four_modules())
    async with app.run_test(size=(80, 24)) as pilot:
        at_first = 0
        for turn in range(12):
            await until(pilot, lambda: getattr(app.screen, "is_seen", False))
            before = app.screen
            await pilot.press("right" if turn % 6 < 3 else "left")
            await until(pilot, lambda before=before: app.screen is not before)
            if turn == 4:
                at_first = lines()
        # The page before may still be on its way out, here and above.
        await until(pilot, lambda: lines() < 1.5 * at_first)
