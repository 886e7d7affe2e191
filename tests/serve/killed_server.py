"""A server with sessions that a test kills: `python -m tests.serve.killed_server FOLDER PROGRAM...`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tcptutor.serve.app_forks import AppForks


async def main() -> None:
    forks = AppForks(sys.argv[2:], os.environ)
    folder = Path(sys.argv[1])
    for line in (b"hang\n", b"stray\n", b"child\n"):
        session = await forks.start_session(
            environment=os.environ, folder=folder, log=folder / "log", size=(80, 24)
        )
        session.stdin.write(line)
        await session.stdout.readline()
    print("ready", flush=True)
    await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main())
