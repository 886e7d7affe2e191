"""Driver of the app in a browser: `tcptutor serve` starts the app with it."""

from __future__ import annotations

import asyncio
import os
import signal

from textual.drivers.web_driver import WebDriver

_FRESH_TERMINAL = (
    "\x1b[?2026l"  # end of a frame that was cut off
    "\x1b[0m\x1b[?1049h\x1b[2J\x1b[?25l"  # alternate screen, cleared, without a cursor
    "\x1b[?1000h\x1b[?1003h\x1b[?1006h"  # mouse
    "\x1b[?2004h"  # bracketed paste
)


class BrowserDriver(WebDriver):
    """Textual's driver for browsers, which can also repaint, and ends the app with its server."""

    def start_application_mode(self) -> None:
        self._loop_of_app = asyncio.get_running_loop()
        super().start_application_mode()

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        if packet_type == "repaint":
            self._loop_of_app.call_soon_threadsafe(self._repaint)
        else:
            super().on_meta(packet_type, payload)

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            # The server is gone. As when a terminal closes: the app saves, ends its lab, and is killed if it hangs.
            os.kill(os.getpid(), signal.SIGHUP)

    def _repaint(self) -> None:
        """Redraw the screen for a browser that has just connected, or that has missed frames."""
        self.write(_FRESH_TERMINAL)
        if self._app.screen_stack:
            self._app.screen.refresh(layout=True)
