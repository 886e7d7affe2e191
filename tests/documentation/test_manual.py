"""The man page is that of today's commands, and groff reads it without a warning."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise

import pytest

from tcptutor.commands.command_line import main
from tests.documentation.manual import PAGE, page


def test_the_man_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.documentation man`"


def test_every_command_is_in_it() -> None:
    headings = [line for before, line in pairwise(page().splitlines()) if before == ".SS"]
    assert {heading.replace("\\-", "-").split()[0] for heading in headings} == set(main.commands)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_reads_it_without_a_warning() -> None:
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", PAGE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
