"""`tcptutor capture`: the packets of an open lab as they pass, for Wireshark, tshark or a file."""

from __future__ import annotations

import os
import sys

from tcptutor.backends.live_capture import LiveCapture
from tcptutor.base.errors import UsageError


def capture_live(interface: str, snap_length: int) -> int:
    """Write the packets of `interface` to the standard output until the session or the reader ends.

    Args:
        interface: The interface; the bottleneck's if empty.
        snap_length: Bytes to keep of each packet.

    Returns:
        The exit code.

    Raises:
        UsageError: The output is a terminal.
        LabUnavailable: No session is open.
        LabError: The session refuses.
    """
    output = sys.stdout.buffer
    if output.isatty():
        raise UsageError("packets are not text: add `| wireshark -k -i -`, `| tshark -r -` or `> FILE.pcap`")
    with LiveCapture(interface, snap_length) as capture:
        while data := capture.read():
            try:
                output.write(data)
                output.flush()
            except BrokenPipeError:
                # The reader has ended, as users end a capture. Python would report the same error at its exit.
                os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
                return 0
    return 0
