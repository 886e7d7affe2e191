"""Draw the README's pictures, or those named."""

from __future__ import annotations

import asyncio
import sys

from tcptutor.base import places
from tests.pictures.scenes import SCENES, draw


def main() -> None:
    for name in sys.argv[1:] or SCENES:
        if name not in SCENES:
            sys.exit(f"no picture {name}: name {', '.join(SCENES)}, or nothing for all")
        target = places.assets() / "pictures" / f"{name}.svg"
        target.write_text(asyncio.run(draw(name)))
        print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
