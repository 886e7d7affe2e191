"""The first start of the app on a machine: an offer to set up the lab."""

from __future__ import annotations

import asyncio
import contextlib

from tcptutor.backends.selection import host_runs_course
from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.commands.output import print_lines, warn
from tcptutor.install import guest_parts
from tcptutor.install.setup import run_setup


def offer_setup() -> None:
    """Set up the lab if the user agrees; always return, as the app can replay recorded runs without a lab.

    No-op if the course runs on the host's kernel, or if the cache folder is not writable.
    """
    try:
        places.cache().mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if guest_parts.unwritable(places.cache()) or asyncio.run(host_runs_course()):
        return
    print_lines(
        ["Experiments need a lab, and this machine has none yet. Without a lab, pages replay recorded runs."]
    )
    try:
        code = run_setup(lambda line: print_lines([line]), warn)
    except TutorError as error:
        warn(str(error))
        code = error.exit_code
    if code:
        with contextlib.suppress(EOFError):
            input("Press Enter to open the app without a lab. ")
