"""`python -m tcptutor.install.ready`: exit code 0 when setup is complete, for `tcptutor/start`."""

from __future__ import annotations

import sys

from tcptutor.install import guest_parts, setup_plan


def is_ready() -> bool:
    """Check whether all packages and all parts of the guest are installed."""
    return not any(setup_plan.make_plan(guest_parts.snapshots_here(), again=False, thorough=False))


if __name__ == "__main__":
    sys.exit(not is_ready())
