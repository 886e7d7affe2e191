"""A network that is not what its experiment says, and what the lab then says of it: run it in namespaces of its own.

Prints one JSON object: the reasons that make a run invalid or suspect, by what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tcptutor import spec
from tcptutor.agent import experiment as runner
from tcptutor.agent import hosts, shaping
from tcptutor.agent.fidelity import Watch
from tcptutor.agent.network import Network
from tcptutor.spec import Experiment


def _experiment(**parameters: str) -> Experiment:
    return spec.build(
        "test/experiment", {"parameters": {"rate": "10 Mbit/s", "algorithm": "reno"} | parameters}
    )


ASKED = _experiment()


def _another_rate(network: Network) -> Watch:
    shaping.apply(
        network.bottleneck, runner.chains(network, _experiment(rate="8 Mbit/s"))[network.bottleneck]
    )
    return _settings(network)


def _no_discipline(network: Network) -> Watch:
    shaping.clear(network.bottleneck)
    return _settings(network)


def _offloads(network: Network) -> Watch:
    hosts.offloads(network.host(1).interface, on=True)
    return _settings(network)


def _settings(network: Network) -> Watch:
    watch = Watch(ASKED)
    watch.settings(runner.chains(network, ASKED))
    watch.offloads(network)
    return watch


def _longer_path(network: Network) -> Watch:
    """No delay is there: any kernel can have that."""
    watch = Watch(_experiment(delay="20 ms"))
    watch.path(network)
    return watch


def _no_path(network: Network) -> Watch:
    shaping.set_link(network.bottleneck, up=False)
    watch = Watch(ASKED)
    watch.path(network)
    return watch


WRONG: dict[str, Callable[[Network], Watch]] = {
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
            hosts.set_mtu(network, ASKED.hosts.mtu)
            for interface in network.interfaces:
                hosts.offloads(interface, on=False)
            for interface, chain in runner.chains(network, ASKED).items():
                shaping.apply(interface, chain)
            watch = wrong(network)
        finally:
            network.stop()
        found[name] = {"invalid": watch.invalid, "suspect": watch.suspect}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
