"""The README's picture: `python -m tests.pictures` walks a page in the app, runs its experiment in the real lab, and
saves the finished screen as SVG in assets/pictures/.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile

from tcptutor import places

_PAGE = 3
_PREDICTION = "12 Mbit/s"


async def _picture() -> str:
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
            for _ in range(_PAGE - 1):
                await pilot.press("right")
                await pilot.pause(0.5)
            await pilot.press("r")
            await pilot.pause(0.5)
            await pilot.press(
                *["space" if key == " " else "slash" if key == "/" else key for key in _PREDICTION], "enter"
            )
            await pilot.pause(0.5)
            await pilot.press("r")
            while "within" not in app.export_screenshot():
                await pilot.pause(0.5)
            await pilot.pause(2)
            return app.export_screenshot(title="tcptutor")
    finally:
        await lab.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        target = places.assets() / "pictures" / "finished-run.svg"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(asyncio.run(_picture()))


if __name__ == "__main__":
    sys.exit(main())
