"""What the lab's agent imports when it starts."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("setuptools", "distutils", "psutil", "pyroute2.ndb", "pyroute2.ipdb", "pyroute2.conntrack")
PROGRAM = f"""
import sys
import tcptutor.agent.agent
print(*(name for name in {SLOW} if name in sys.modules))
from pyroute2 import IPRoute
print(IPRoute.__name__)
"""


def test_the_agent_starts_without_what_it_never_uses_and_pyroute2_can_still_be_imported() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["", "IPRoute"], done.stderr
