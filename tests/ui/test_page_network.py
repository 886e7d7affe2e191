"""What a terminal of a page opens on."""

from __future__ import annotations

from tcptutor.course import load
from tcptutor.ui.widgets.terminal.terminal import network_of


def test_every_page_that_names_a_shell_in_its_text_has_a_network_for_it() -> None:
    named = []
    for module in load().modules:
        for step in module.steps:
            if "tcptutor shell h" in step.prose:
                network = network_of(step)
                assert network is not None, f"{module.id}/{step.id}"
                if step.shell is None and not step.experiments:
                    named.append(network.name)
    assert named, "at least one of them runs nothing itself"
