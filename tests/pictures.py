"""The README's pictures: `python -m tests.pictures [NAME]` walks a page in the app, runs its experiment in the real
lab, and saves the screen as SVG in assets/pictures/.

finished-run is one flow at its end, running is eight flows on their way.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from typing import NamedTuple

from tcptutor.base import places
from tcptutor.ui.live import Live


class Picture(NamedTuple):
    """A moment of a page's run."""

    page: int
    prediction: str
    is_there: Callable[[Live], bool]


PICTURES = {
    "finished-run": Picture(3, "12 Mbit/s", lambda live: live.report is not None),
    "running": Picture(5, "70 Mbit/s", lambda live: live.run.experiment_s >= 10),
}


async def _picture(wanted: Picture) -> str:
    from tcptutor.backends.lab import Lab
    from tcptutor.course import load
    from tcptutor.journal import Journal
    from tcptutor.ui.app import TutorApp

    lab = Lab("guest", "virtual")
    app = TutorApp(load(), Journal.open(), lab, module="parallel-streams")
    try:
        async with app.run_test(size=(120, 36)) as pilot:
            while lab.environment is None:
                await pilot.pause(0.1)
            for _ in range(wanted.page - 1):
                await pilot.press("right")
                await pilot.pause(0.5)
            await pilot.press("r")
            await pilot.pause(0.5)
            names = {" ": "space", "/": "slash"}
            await pilot.press(*(names.get(letter, letter) for letter in wanted.prediction), "enter")
            await pilot.pause(0.5)
            await pilot.press("r")
            while app.bench.live is None or not wanted.is_there(app.bench.live):
                await pilot.pause(0.1)
            await pilot.pause(0.6 if app.bench.busy else 3)
            svg = app.export_screenshot(title="tcptutor")
            await app.bench.close()
            return svg
    finally:
        await lab.close()


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_DATA_HOME"] = folder
            target = places.assets() / "pictures" / f"{name}.svg"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(asyncio.run(_picture(PICTURES[name])))


if __name__ == "__main__":
    main()
