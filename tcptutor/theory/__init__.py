"""The published models of TCP throughput as pure functions.

Bytes, seconds and probabilities in; bit/s, segments or ratios out. Outside its domain every function raises
ParameterError that names the parameter, the bound and the reason.
"""

from tcptutor.spec.frame_sizes import WIRE_FRAMING
from tcptutor.theory.bbr import (
    BBR_CWND_GAIN,
    BBR_LOSS_HELD,
    BBR_LOSS_LIMIT,
    BBR_PACING_CYCLE,
    BBR_STARTUP_GAIN,
    bbr_fraction,
    bbr_throughput,
    bbr_window,
)
from tcptutor.theory.cubic import (
    CUBIC_BETA,
    CUBIC_C,
    CUBIC_MEAN,
    CUBIC_RENO_ALPHA,
    cubic_curve,
    cubic_k,
    cubic_random_window,
    cubic_region_window,
    cubic_window,
)
from tcptutor.theory.high_speed import (
    HTCP_BETA,
    highspeed_decrease,
    highspeed_growth,
    highspeed_window,
    htcp_alpha,
    htcp_beta,
    htcp_growth,
    htcp_random_window,
    htcp_window,
)
from tcptutor.theory.limited_flows import LIMITED, LimitedFlow, limited_link, limited_rates
from tcptutor.theory.limits import (
    EMULATED_FRAMING,
    INITIAL_WINDOW,
    bdp,
    buffer_rule,
    goodput_ratio,
    link_limited,
    queueing_delay,
    sawtooth_mean,
    sawtooth_peak,
    sawtooth_period,
    sawtooth_utilisation,
    slow_start_duration,
    window_limited,
)
from tcptutor.theory.loss_laws import (
    ABE_BETA,
    ACK_DELAY,
    ACK_EVERY,
    MATHIS_MANUAL,
    MATHIS_PERIODIC,
    MATHIS_PERIODIC_DELAYED,
    MATHIS_RANDOM,
    MATHIS_RANDOM_DELAYED,
    aimd_window,
    dctcp_marking,
    dctcp_window,
    ecn_window,
    mathis,
    padhye,
    padhye_full,
    reno_window,
    tfrc,
)
from tcptutor.theory.parallel_flows import (
    Stream,
    aggregate,
    coefficient_of_variation,
    jain_index,
    rtt_shares,
    shared_utilisation,
)
from tcptutor.theory.senders import highspeed_random_window, reno_random_window
from tcptutor.theory.trajectory import LAWS, Bottleneck, Source, Trajectory, trajectories
from tcptutor.theory.transfers import completion_time

__all__ = [
    "ABE_BETA", "ACK_DELAY", "ACK_EVERY", "BBR_CWND_GAIN", "BBR_LOSS_HELD", "BBR_LOSS_LIMIT", "BBR_PACING_CYCLE",
    "BBR_STARTUP_GAIN", "CUBIC_BETA", "CUBIC_C", "CUBIC_MEAN", "CUBIC_RENO_ALPHA", "EMULATED_FRAMING", "HTCP_BETA",
    "INITIAL_WINDOW", "LAWS", "LIMITED", "MATHIS_MANUAL", "MATHIS_PERIODIC", "MATHIS_PERIODIC_DELAYED",
    "MATHIS_RANDOM", "MATHIS_RANDOM_DELAYED", "WIRE_FRAMING", "Bottleneck", "LimitedFlow", "Source", "Stream",
    "Trajectory", "aggregate", "aimd_window", "bbr_fraction", "bbr_throughput", "bbr_window", "bdp", "buffer_rule",
    "coefficient_of_variation", "completion_time", "cubic_curve", "cubic_k", "cubic_random_window",
    "cubic_region_window", "cubic_window", "dctcp_marking", "dctcp_window", "ecn_window", "goodput_ratio",
    "highspeed_decrease", "highspeed_growth", "highspeed_random_window", "highspeed_window", "htcp_alpha",
    "htcp_beta", "htcp_growth", "htcp_random_window", "htcp_window", "jain_index", "limited_link", "limited_rates",
    "link_limited", "mathis", "padhye", "padhye_full", "queueing_delay", "reno_random_window", "reno_window",
    "rtt_shares", "sawtooth_mean", "sawtooth_peak", "sawtooth_period", "sawtooth_utilisation", "shared_utilisation",
    "slow_start_duration", "tfrc", "trajectories", "window_limited",
]  # fmt: skip
