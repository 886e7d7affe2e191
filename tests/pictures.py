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
from tcptutor.ui import themes
from tcptutor.ui.app import TutorApp
from tcptutor.ui.live import Live
from tests.ui.screen import keys, until

_MODULE = "parallel-streams"


class Picture(NamedTuple):
    """A moment of a page's run."""

    page: str
    """Its id in the module."""
    prediction: str
    is_there: Callable[[Live], bool]


PICTURES = {
    "finished-run": Picture("one-lossy-flow", "12 Mbit/s", lambda live: live.report is not None),
    "running": Picture("eight-flows-one-link", "70 Mbit/s", lambda live: live.run.experiment_s >= 10),
}


async def _picture(wanted: Picture) -> str:
    from tcptutor.backends.lab import Lab
    from tcptutor.course import load
    from tcptutor.journal import Journal

    lab, course = Lab("guest", "virtual"), load()
    module = next(each for each in course.modules if each.id == _MODULE)
    step = next(each for each in module.steps if each.id == wanted.page)
    app = TutorApp(course, Journal.open(), lab, module=module.id)
    app.theme = themes.DARK.name  # whatever the terminal shows
    try:
        async with app.run_test(size=(120, 36)) as pilot:
            await until(pilot, lambda: lab.environment is not None)
            app.open_step(module, step)
            await until(pilot, lambda: _complete(app, step.id))
            await pilot.press("r", *keys(wanted.prediction), "enter", "r")
            await until(pilot, lambda: app.bench.live is not None and wanted.is_there(app.bench.live), 120)
            # The chart is drawn at its own pace, and "saved" stays for a moment.
            await pilot.pause(0.6 if app.bench.busy else 3)
            svg = app.export_screenshot(title="tcptutor")
            await app.bench.close()
            return svg
    finally:
        await lab.close()


def _complete(app: TutorApp, page: str) -> bool:
    from tcptutor.ui.screens.lesson import LessonScreen

    screen = app.screen
    return isinstance(screen, LessonScreen) and screen.step.id == page and screen.is_complete


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_DATA_HOME"] = folder
            target = places.assets() / "pictures" / f"{name}.svg"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(asyncio.run(_picture(PICTURES[name])))


if __name__ == "__main__":
    main()
