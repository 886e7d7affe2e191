"""Mean window and throughput under loss, marks or reordering: AIMD, ECN and DCTCP, and Reno with and without timeouts.

Mathis 1997 is the inverse square root law; Padhye 1998 adds timeouts.

Reordering limits a window without any loss. Linux considers a segment lost when a segment that was sent a round trip
and a waiting time later has arrived before it (RACK, RFC 8985). The window is halved and, as soon as the late segment
arrives, restored (RFC 3522, RFC 3708). In between it does not grow, and a second such mistake can make the reduction
permanent. So windows grow until a round trip has about a single mistake.
"""

from __future__ import annotations

import math

from tcptutor.theory.domain import at_least, loss_rate, path, positive, require

MIN_WINDOW = 2.0
"""Smallest window of a loss-based sender after a loss, segments (RFC 5681, eq. 4)."""

ACK_EVERY = 2
"""Segments per ACK of a receiver (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2)."""


ACK_STRETCHED = 3.0
"""Segments per ACK when a flight arrives at once, faster than the receiving program reads. Measured on Linux
6.12: a mean of 2.5 to 3.8, up to 6 in large flights. Only HighSpeed TCP and H-TCP depend on it."""

ACK_DELAY = 0.040
"""Seconds that a receiver waits for a second segment before it sends an ACK (Linux's TCP_DELACK_MIN)."""
ABE_BETA = 0.8
"""Fraction of the window that RFC 8511, section 3, leaves to Reno after a mark; a loss leaves half."""
MATHIS_PERIODIC = math.sqrt(3 / 2)
"""1.2247: a loss every 1/p segments exactly, every segment acknowledged."""

MATHIS_PERIODIC_DELAYED = math.sqrt(3 / 4)
"""0.8660: a loss every 1/p segments exactly, growth counted by delayed ACKs of two segments."""

MATHIS_RANDOM = 1.31
"""Independent random loss, every segment counted: Reno on Linux with netem's loss."""

MATHIS_RANDOM_DELAYED = 0.93
"""Independent random loss, growth counted by delayed ACKs."""

MATHIS_MANUAL = 1.0
"""The lab manuals omit the constant."""

OVERTAKING_MISTAKES, OVERTAKING_MISTAKES_CUBIC = 0.75, 0.5
"""Mistakes per round trip at which a window stays, when single segments arrive a round trip early; measured.

CUBIC tolerates fewer: each mistake restarts its curve.
"""

JITTER_MISTAKES = 1.3
"""Like OVERTAKING_MISTAKES, for varying delays: a recovery covers several late segments; measured."""


def aimd_window(loss: float, alpha: float, beta: float) -> float:
    """Return the mean window of AIMD(alpha, beta), segments: sqrt(alpha * (1+beta) / (2 * (1-beta) * loss)).

    Source: RFC 8312, eq. 3, unchanged in RFC 9438, section 4.3. Raises ParameterError outside the domain.

    Args:
        loss: Loss events per segment at even distances, above 0 and at most 1.
        alpha: Segments added per round trip, above 0.
        beta: Fraction of the window left by a loss, 0 to below 1 (Reno: alpha 1, beta 0.5).
    """
    loss_rate(loss)
    positive("alpha", alpha, "a window that does not grow has no sawtooth")
    decrease_factor(beta)
    return math.sqrt(alpha * (1 + beta) / (2 * (1 - beta) * loss))


def reno_window(loss: float) -> float:
    """Return the mean congestion window of Reno, segments: sqrt(3 / (2 * loss)), i.e. aimd_window(loss, 1, 0.5).

    Source: Mathis 1997, section 2. Raises ParameterError outside the domain.

    Args:
        loss: Loss events per segment at even distances, above 0 and at most 1; random loss gives 7 % more.
    """
    return aimd_window(loss, 1, 0.5)


def decrease_factor(beta: float) -> None:
    """Raise ParameterError unless `beta` is a valid factor for reducing a window."""
    require(0 <= beta < 1, "beta", beta, "0 or above, below 1", "the fraction of the window left by a loss")


def ecn_window(marking: float, beta: float = 0.5) -> float:
    """Return the mean congestion window with classic ECN, segments: sqrt((1+beta) / (2 * (1-beta) * marking)).

    Every mark counts like a loss; for Reno sqrt(3 / (2 * marking)). Source: RFC 3168, section 6.1.2; RFC
    9438, eq. 3. Raises ParameterError outside the domain.

    Args:
        marking: Events per segment, above 0 and at most 1; the marks of a round trip are a single event.
        beta: Fraction of the window left by an event, 0 to below 1; ABE_BETA if the system has it.
    """
    _check_marking(marking)
    decrease_factor(beta)
    return aimd_window(marking, 1, beta)


def dctcp_window(marking: float, step: bool = True) -> float:
    """Return the congestion window of DCTCP in its steady state, segments: 2 / marking^2, or 2 / marking.

    With a step the sender's estimate must be slow enough for the sawtooth (Linux's gain of 1/16 is, up to
    about 250 segments); a faster estimate has fewer marks. Source: Alizadeh et al.: Data Center TCP (DCTCP),
    SIGCOMM 2010, section 3.3, eq. 6 (step, small marking) and 3.4 (the gain); De Schepper et al.: PI2, CoNEXT
    2016, appendix A (both). Raises ParameterError outside the domain.

    Args:
        marking: Fraction of segments that carry a mark, above 0 and at most 1.
        step: True if the queue marks everything above a threshold, as DCTCP expects, so that all marks of a
            sawtooth fall into a single round trip. False if it marks segments independently, so that about
            two marks come in every round trip and the reduction of marking / 2 cancels its growth.
    """
    _check_marking(marking)
    return 2 / marking**2 if step else 2 / marking


def dctcp_marking(window: float, step: bool = True) -> float:
    """Return the fraction of marked segments at DCTCP's `window`: sqrt(2 / window), or 2 / window.

    The inverse of `dctcp_window`. Source: Alizadeh et al. 2010, eq. 6, and De Schepper et al. 2016, appendix
    A. Raises ParameterError outside the domain.

    Args:
        window: Segments, 2 or above; at 2 every segment is marked.
        step: See `dctcp_window`.
    """
    at_least("window", window, 2, "below two segments every one of them is marked")
    return math.sqrt(2 / window) if step else 2 / window


def _check_marking(marking: float) -> None:
    reason = "marks per segment; without marks there is no congestion to answer"
    require(0 < marking <= 1, "marking", marking, "above 0, at most 1", reason)


def mathis(mss: float, rtt: float, loss: float, c: float = MATHIS_PERIODIC) -> float:
    """Return the throughput of a Reno flow in congestion avoidance, bit/s: 8 * mss * c / (rtt * sqrt(loss)).

    Without timeouts, so too high above a loss of about 0.02. Source: Mathis, Semke, Mahdavi, Ott: The
    Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR 27(3), 1997, eq. 3 and its table of
    constants. Raises ParameterError outside the domain.

    Args:
        mss: Payload bytes of a segment, above 0.
        rtt: Seconds, above 0.
        loss: Loss events per segment, above 0 and at most 1.
        c: Constant of the loss pattern, above 0; the default is the paper's own derivation, MATHIS_RANDOM
            fits independent random loss.
    """
    path(mss, rtt)
    loss_rate(loss)
    positive("c", c, "the constant is about 1")
    return 8 * mss * c / (rtt * math.sqrt(loss))


def padhye(
    mss: float, rtt: float, loss: float, rto: float, b: float = 1, max_window: float | None = None
) -> float:
    """Return the throughput of a Reno flow with timeouts, bit/s, by the approximate model.

    8 * mss * min(max_window / rtt, 1 / (rtt*sqrt(2bp/3) + rto*min(1, 3*sqrt(3bp/8))*p*(1 + 32p^2))). Source:
    Padhye, Firoiu, Towsley, Kurose: Modeling TCP Throughput, SIGCOMM 1998; Hacker 2001, eq. 1, omits a
    bracket. `tfrc` is RFC 5348's form. Raises ParameterError outside the domain.

    Args:
        mss: Payload bytes of a segment, above 0.
        rtt: Seconds, above 0.
        loss: Loss events per segment, above 0 and below 1.
        rto: First retransmission timeout, seconds, above 0.
        b: Segments per ACK, 1 or above; 1 for Linux, which counts segments.
        max_window: The receiver's window in segments, 1 or above; None for no limit.
    """
    _check(mss, rtt, loss, rto, b, max_window)
    timeouts = rto * min(1.0, 3 * math.sqrt(3 * b * loss / 8)) * loss * (1 + 32 * loss**2)
    segments = 1 / (rtt * math.sqrt(2 * b * loss / 3) + timeouts)
    if max_window is not None:
        segments = min(segments, max_window / rtt)
    return 8 * mss * segments


def padhye_full(
    mss: float, rtt: float, loss: float, rto: float, b: float = 1, max_window: float | None = None
) -> float:
    """Return Reno's throughput with timeouts, bit/s, by the full model. Arguments and errors as in `padhye`.

    Source: Padhye et al. 1998, eq. 31, without and with the receiver's window as the limit, with the mean
    window of eq. 13 and the backoff of eq. 28; mean_peak, timeout_share and backoff are also eq. 23, 17 and
    19 of Cardwell, Savage, Anderson, INFOCOM 2000.
    """
    _check(mss, rtt, loss, rto, b, max_window)
    arrives = 1 - loss
    window = mean_peak(loss, b)
    if max_window is None or window < max_window:
        rounds = b * window / 2 + 1
    else:
        window = max_window
        rounds = b * window / 8 + arrives / (loss * window) + 2
    timeout = timeout_share(window, loss)
    sent = arrives / loss + window + timeout / arrives
    return 8 * mss * sent / (rtt * rounds + timeout * rto * backoff(loss) / arrives)


def tfrc(mss: float, rtt: float, loss: float, b: float = 1) -> float:
    """Return the TCP-friendly rate by RFC 5348, bit/s.

    8 * mss / (rtt*sqrt(2bp/3) + 4*rtt * 3*sqrt(3bp/8)*p*(1 + 32p^2)). Differs from `padhye` by a timeout of
    four round trips, and by no upper bound on the fraction of timeouts. Source: RFC 5348, section 3.1. Raises
    ParameterError outside the domain.

    Args:
        mss: Payload bytes of a segment, above 0.
        rtt: Seconds, above 0.
        loss: Loss events per segment, above 0 and at most 1.
        b: See `padhye`.
    """
    path(mss, rtt)
    loss_rate(loss)
    at_least("b", b, 1, "segments acknowledged by one ACK")
    timeouts = 4 * rtt * 3 * math.sqrt(3 * b * loss / 8) * loss * (1 + 32 * loss**2)
    return 8 * mss / (rtt * math.sqrt(2 * b * loss / 3) + timeouts)


def mean_peak(loss: float, b: float) -> float:
    """Return E[W]: the mean window at which a loss is found, segments."""
    third = (2 + b) / (3 * b)
    return third + math.sqrt(8 * (1 - loss) / (3 * b * loss) + third**2)


def timeout_share(window: float, loss: float) -> float:
    """Return Q(w): the probability that a loss in a window of `window` segments is found by a timeout."""
    # Powers by logarithms: 1 - (1 - loss)**window loses all digits when loss is tiny.
    log = math.log(1 - loss)
    three = -math.expm1(3 * log)
    some_lost = -math.expm1(window * log)
    return min(1.0, three * (1 + (1 - loss) ** 3 * -math.expm1((window - 3) * log)) / some_lost)


def backoff(p: float) -> float:
    """Return f(p): the duration of a sequence of timeouts over the first; each doubles, up to 64 times the first."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6


def _check(mss: float, rtt: float, loss: float, rto: float, b: float, max_window: float | None) -> None:
    path(mss, rtt)
    loss_rate(loss, certain=False)
    positive("rto", rto, "a retransmission timeout in seconds")
    at_least("b", b, 1, "segments acknowledged by one ACK")
    if max_window is not None:
        require(max_window >= 1, "max_window", max_window, "1 or above", "the receiver's window in segments")


def overtaking_window(reorder: float, mistakes: float = OVERTAKING_MISTAKES) -> float:
    """Return the window that stays constant when a fraction of segments overtakes, segments: mistakes / reorder.

    A segment that skips the whole delay reduces the minimum RTT, and with it RACK's waiting time, to about 0,
    so each is a mistake. Source: RFC 8985, section 6.2; the mistakes were counted on Linux 6.12. Raises
    ParameterError outside the domain.

    Args:
        reorder: Fraction of segments, above 0, at most 1.
        mistakes: Mistakes per round trip at this window, above 0.
    """
    require(0 < reorder <= 1, "reorder", reorder, "above 0, at most 1", "share of segments that overtake")
    positive("mistakes", mistakes, "without mistakes reordering is no limit")
    return mistakes / reorder


def jitter_window(jitter: float, rtt: float) -> float:
    """Return the window that stays constant when each delay is drawn from rtt ± jitter, segments.

    RACK learns to wait for up to a round trip T, so a segment is a mistake if it arrives after a segment that
    was sent more than T later. Of w segments per round trip w² (2j − T)³ / (24 j² T) are mistakes for a
    uniform distribution; infinite for 2j <= T. Source: RFC 8985, section 6.2, and the mean over uniform
    delays; JITTER_MISTAKES was measured on Linux 6.12. Raises ParameterError outside the domain.

    Args:
        jitter: Seconds, above 0 and at most rtt.
        rtt: Mean round trip, seconds, above 0.
    """
    positive("rtt", rtt, "a round trip takes time, in seconds")
    require(
        0 < jitter <= rtt, "jitter", jitter, "above 0, at most rtt", "no segment arrives before it is sent"
    )
    late = 2 * jitter - rtt
    if late <= 0:
        return math.inf
    return math.sqrt(JITTER_MISTAKES * 24 * jitter**2 * rtt / late**3)


def combine_with_link(window: float, link: float) -> float:
    """Combine a limit by reordering with a limit by the link: 1 / √(1/window² + 1/link²).

    Equal limits leave 0.71 of either. Source: an interpolation between the two limits. Raises ParameterError
    outside the domain.

    Args:
        window: Segments per round trip, above 0; may be infinite.
        link: Segments per round trip, above 0.
    """
    require(window > 0, "window", window, "above 0", "segments a round trip")
    positive("link", link, "segments that the link carries in a round trip")
    return 1 / math.hypot(1 / window, 1 / link)
