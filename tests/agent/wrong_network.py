"""A network that is not what its experiment says, and what the lab then says of it: run it in namespaces of its own.

Prints one JSON object: the reasons that make a run invalid or suspect, by what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tcptutor import spec
from tcptutor.agent import experiment as runner
from tcptutor.agent import host_settings, shaping
from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.network import Network
from tcptutor.spec import Experiment


def _experiment(**parameters: str) -> Experiment:
    return spec.build(
        "test/experiment", {"parameters": {"rate": "10 Mbit/s", "algorithm": "reno"} | parameters}
    )


ASKED = _experiment()


def _another_rate(network: Network) -> FidelityChecks:
    shaping.apply(
        network.bottleneck, runner.qdisc_chains(network, _experiment(rate="8 Mbit/s"))[network.bottleneck]
    )
    return _settings(network)


def _no_discipline(network: Network) -> FidelityChecks:
    shaping.clear(network.bottleneck)
    return _settings(network)


def _offloads(network: Network) -> FidelityChecks:
    host_settings.offloads(network.host(1).interface, on=True)
    return _settings(network)


def _settings(network: Network) -> FidelityChecks:
    checks = FidelityChecks(ASKED)
    checks.check_settings(runner.qdisc_chains(network, ASKED))
    checks.check_offloads(network)
    return checks


def _longer_path(network: Network) -> FidelityChecks:
    """No delay is there: any kernel can have that."""
    checks = FidelityChecks(_experiment(delay="20 ms"))
    checks.check_path(network)
    return checks


def _no_path(network: Network) -> FidelityChecks:
    shaping.set_link(network.bottleneck, up=False)
    checks = FidelityChecks(ASKED)
    checks.check_path(network)
    return checks


WRONG: dict[str, Callable[[Network], FidelityChecks]] = {
    "nothing": _settings,
    "another rate": _another_rate,
    "no discipline": _no_discipline,
    "offloads": _offloads,
    "longer path": _longer_path,
    "no path": _no_path,
}


def main() -> None:
    found = {}
    for name, wrong in WRONG.items():
        network = Network()
        network.start()
        try:
            host_settings.set_mtu(network, ASKED.hosts.mtu)
            for interface in network.interfaces:
                host_settings.offloads(interface, on=False)
            for interface, chain in runner.qdisc_chains(network, ASKED).items():
                shaping.apply(interface, chain)
            checks = wrong(network)
        finally:
            network.stop()
        found[name] = {"invalid": checks.invalid, "suspect": checks.suspect}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
