"""The end of a command while a thread still runs that never ends: as Textual's does on a terminal that is dead."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import threading
from tcptutor.commands import ending, exits
from tcptutor.base.errors import TutorError

@exits.click.group(cls=exits.CommandGroup)
def main():
    pass

def work():
    threading.Thread(target=threading.Event().wait).start()
    print("done")
    {last}

main.command("work")(lambda: ending.end(work))
main(["work"])
"""


@pytest.mark.parametrize(
    ("last", "code", "told"),
    [
        ("return 0", 0, ""),
        ("return 3", 3, ""),
        ("raise TutorError('not all was saved')", 1, "not all was saved"),
    ],
)
def test_a_thread_that_never_ends_takes_neither_the_exit_code_nor_the_last_line(
    last: str, code: int, told: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(last=last)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (code, "done\n")
    assert ended.stderr == (f"tcptutor: {told}\n" if told else "")
