"""BBR version 1 as a window law: it keeps data in flight by its estimates of rate and round trip."""

from __future__ import annotations

from collections import deque

from tcptutor.theory.bbr import BBR_CWND_GAIN, BBR_MIN_WINDOW, BBR_PACING_CYCLE, BBR_STARTUP_GAIN
from tcptutor.theory.trajectory.law import WindowLaw

_FULL, _FULL_ROUNDS = 1.25, 3  # the pipe is full when the rate has not grown by a quarter in three rounds
_RATE_ROUNDS = 10  # round trips for which the largest measured rate counts
_RTT_PERIOD, _RTT_TIME = 10.0, 0.2  # every 10 s it keeps 4 segments for 200 ms, to see the empty path


class BBR(WindowLaw):
    """Cardwell et al. 2016 and net/ipv4/tcp_bbr.c: Startup, Drain, ProbeBW, ProbeRTT.

    Simplified: the base RTT is known, each gain lasts for a base RTT, and a loss only removes the dropped
    segments from the data in flight. `phase` is the start of the cycle of ProbeBW; Linux draws it at random,
    so that the flows of a path do not probe together.
    """

    def __init__(self, rtt: float, initial: float, most: float, phase: int = 0) -> None:
        super().__init__(rtt, initial, most)
        self._mode = "startup"
        self._phase = (2 + phase) % len(BBR_PACING_CYCLE)
        self._in_phase = self._in_round = self._since_probe = self._now = 0.0
        self._rates: deque[tuple[float, float]] = deque()
        self._best, self._stalled = 0.0, 0

    def pass_time(self, dt: float, rtt: float, rate: float, filled: float) -> None:  # noqa: ARG002
        self._since_probe += dt
        if self._mode != "startup" and self._since_probe >= _RTT_PERIOD:
            self._probe_rtt(rtt)
            return
        # The arrivals of a window of 4 segments do not measure the link: that time does not count.
        self._now += dt
        estimate = self._max_recent_rate(rate, rtt)
        if self._mode == "startup":
            self._startup(dt, rtt, estimate)
        else:
            self._probe_rate(dt, rate, estimate)

    def lose(self, room: float) -> None:
        self.flight = max(BBR_MIN_WINDOW, self.flight * room)

    def _max_recent_rate(self, rate: float, rtt: float) -> float:
        rates = self._rates
        while rates and rates[-1][1] <= rate:
            rates.pop()
        rates.append((self._now, rate))
        while rates[0][0] < self._now - _RATE_ROUNDS * rtt:
            rates.popleft()
        return rates[0][1]

    def _startup(self, dt: float, rtt: float, estimate: float) -> None:
        """Double the rate each round trip, until three round trips have increased it by less than a quarter."""
        most = max(self.window, BBR_STARTUP_GAIN * estimate * self.base)
        self.window = self.flight = min(self.most, most, self.window * 2 ** (dt / rtt))
        self._in_round += dt
        if self._in_round < rtt:
            return
        self._in_round = 0.0
        if estimate >= _FULL * self._best:
            self._best, self._stalled = estimate, 0
            return
        self._stalled += 1
        if self._stalled >= _FULL_ROUNDS:
            self._mode = "drain"

    def _probe_rate(self, dt: float, rate: float, estimate: float) -> None:
        """Pace at a gain over the estimate: below 1 after Startup, then through the cycle."""
        product = estimate * self.base
        drains = self._mode == "drain"
        pacing = 1 / BBR_STARTUP_GAIN if drains else self._cycle(dt, product)
        room = BBR_STARTUP_GAIN if drains else BBR_CWND_GAIN
        self.window = min(self.most, max(BBR_MIN_WINDOW, room * product))
        self.flight = min(self.window, max(BBR_MIN_WINDOW, self.flight + (pacing * estimate - rate) * dt))
        if drains and self.flight <= product:
            self._mode = "probe"

    def _cycle(self, dt: float, product: float) -> float:
        """Return the pacing gain of this phase; the gain below 1 ends when the queue of the probe is empty."""
        gain = BBR_PACING_CYCLE[self._phase]
        self._in_phase += dt
        drained = gain < 1 and self.flight <= product
        if self._in_phase >= self.base * (1 - 1e-9) or drained:
            self._phase = (self._phase + 1) % len(BBR_PACING_CYCLE)
            self._in_phase = 0.0
        return gain

    def _probe_rtt(self, rtt: float) -> None:
        self.window = self.flight = BBR_MIN_WINDOW
        if self._since_probe >= _RTT_PERIOD + max(_RTT_TIME, rtt):
            self._since_probe = 0.0
            product = self._rates[0][1] * self.base
            self.window = min(self.most, max(BBR_MIN_WINDOW, BBR_CWND_GAIN * product))
            self.flight = min(self.window, max(BBR_MIN_WINDOW, product))
