"""What should happen: the published models of TCP throughput as pure functions.

Bytes, seconds and probabilities in; bit/s, segments or ratios out. Outside its domain every function raises
ParameterError that names the parameter, the bound and the reason.
"""

from tcptutor.theory.aimd import aimd_window, reno_window, sawtooth_utilisation
from tcptutor.theory.cubic import (
    CUBIC_BETA,
    CUBIC_C,
    CUBIC_RANDOM,
    CUBIC_RENO_ALPHA,
    CUBIC_RENO_RANDOM,
    cubic_region_window,
    cubic_window,
)
from tcptutor.theory.fairness import coefficient_of_variation, jain_index
from tcptutor.theory.highspeed import highspeed_window
from tcptutor.theory.htcp import HTCP_BETA, HTCP_RANDOM, htcp_alpha, htcp_window
from tcptutor.theory.limits import (
    EMULATED_FRAMING,
    INITIAL_WINDOW,
    WIRE_FRAMING,
    bdp,
    goodput_ratio,
    slow_start_duration,
    window_limited,
)
from tcptutor.theory.loss import (
    MATHIS_MANUAL,
    MATHIS_PERIODIC,
    MATHIS_PERIODIC_DELAYED,
    MATHIS_RANDOM,
    MATHIS_RANDOM_DELAYED,
    mathis,
)
from tcptutor.theory.many import Stream, aggregate, shared_utilisation
from tcptutor.theory.padhye import padhye, padhye_full

__all__ = [
    "CUBIC_BETA",
    "CUBIC_C",
    "CUBIC_RANDOM",
    "CUBIC_RENO_ALPHA",
    "CUBIC_RENO_RANDOM",
    "EMULATED_FRAMING",
    "HTCP_BETA",
    "HTCP_RANDOM",
    "INITIAL_WINDOW",
    "MATHIS_MANUAL",
    "MATHIS_PERIODIC",
    "MATHIS_PERIODIC_DELAYED",
    "MATHIS_RANDOM",
    "MATHIS_RANDOM_DELAYED",
    "WIRE_FRAMING",
    "Stream",
    "aggregate",
    "aimd_window",
    "bdp",
    "coefficient_of_variation",
    "cubic_region_window",
    "cubic_window",
    "goodput_ratio",
    "highspeed_window",
    "htcp_alpha",
    "htcp_window",
    "jain_index",
    "mathis",
    "padhye",
    "padhye_full",
    "reno_window",
    "sawtooth_utilisation",
    "shared_utilisation",
    "slow_start_duration",
    "window_limited",
]
