"""`python -m tcptutor.install.ready`: exit code 0 when setup has nothing to do. For `tcptutor/start`, used daily."""

from __future__ import annotations

import sys

from tcptutor.install import parts, plan


def ready() -> bool:
    """Whether all packages and all parts of the guest are there."""
    return not any(plan.make(parts.snapshots_here(), again=False, whole=False))


if __name__ == "__main__":
    sys.exit(not ready())
