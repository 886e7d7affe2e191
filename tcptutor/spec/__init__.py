"""Experiments on the lab's network as frozen, validated, serializable data.

An experiment file is a table of named parameters in text with units. `build` merges overrides into it,
converts it to base units and computes derived values (queue in bytes, BDP).
"""

from tcptutor.spec.build import SCALES, build
from tcptutor.spec.check import check, check_plausible
from tcptutor.spec.definition import Experiment
from tcptutor.spec.frame_sizes import LENGTH, bdp, default_burst
from tcptutor.spec.parameters import (
    PARAMETERS,
    Parameter,
    brief,
    parameter,
    read,
    settings,
    shown_settings,
)
from tcptutor.spec.parts import ALGORITHMS, Change, Flows, Hosts, Path
from tcptutor.spec.topology import Topology, bottleneck_interface, host_names, interface_names

__all__ = [
    "ALGORITHMS", "LENGTH", "PARAMETERS", "SCALES", "Change", "Experiment", "Flows", "Hosts", "Parameter", "Path",
    "Topology", "bdp", "bottleneck_interface", "brief", "build", "check", "check_plausible", "default_burst",
    "host_names", "interface_names", "parameter", "read", "settings", "shown_settings",
]  # fmt: skip
