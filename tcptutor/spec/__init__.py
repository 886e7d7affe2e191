"""What to run: an experiment on the lab's network, as frozen, validated, serialisable data.

An experiment file is a table of named parameters in text with units; `build` merges overrides into it and
gives the `Experiment` in base units, with what follows from the parameters (queue in bytes, BDP) computed.
"""

from tcptutor.spec.build import SCALES, build
from tcptutor.spec.check import check, plausible
from tcptutor.spec.parameters import ALGORITHMS, PARAMETERS, Parameter, parameter, read, settings
from tcptutor.spec.parts import (
    ALL_HEADERS,
    ETHERNET_HEADER,
    HEADERS,
    LENGTH,
    TIMESTAMP_OPTION,
    Change,
    Experiment,
    Flows,
    Hosts,
    Path,
    bdp,
    default_burst,
    host_names,
    interface_names,
)

__all__ = [
    "ALGORITHMS",
    "ALL_HEADERS",
    "ETHERNET_HEADER",
    "HEADERS",
    "LENGTH",
    "PARAMETERS",
    "SCALES",
    "TIMESTAMP_OPTION",
    "Change",
    "Experiment",
    "Flows",
    "Hosts",
    "Parameter",
    "Path",
    "bdp",
    "build",
    "check",
    "default_burst",
    "host_names",
    "interface_names",
    "parameter",
    "plausible",
    "read",
    "settings",
]
