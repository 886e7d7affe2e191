"""The installed command, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import patience

TCPTUTOR = str(Path(sys.executable).with_name("tcptutor"))


ORDINARY_USER = (
    ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"] if os.geteuid() == 0 else []
)
"""Before a command that root is to run as an ordinary user, with root's files."""


def tcptutor(*arguments: str, timeout: float = 120, **how: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [TCPTUTOR, *arguments],
        capture_output=True,
        text=True,
        timeout=patience.seconds(timeout),
        check=False,
        stdin=subprocess.DEVNULL,
        **how,
    )


SERVER = "h2 iperf3 -s -D; until h2 ss -tln | grep -q :5201; do sleep 0.1; done"
"""For a lab host's shell: a server on h2, and wait until it listens."""
