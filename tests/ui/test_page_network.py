"""What a terminal of a page opens on."""

from __future__ import annotations

from msgspec.structs import replace

from tcptutor.course import load
from tcptutor.ui.widgets.terminal.terminal import network_of

STEPS = [step for module in load().modules for step in module.steps]


def test_a_page_with_a_lab_opens_its_own_network() -> None:
    for step in STEPS:
        own = [step.shell.experiment] if step.shell else list(step.experiments)
        if own:
            assert network_of(step) == own[0], step.id


def test_a_page_without_a_lab_opens_the_network_that_its_text_names() -> None:
    page = next(step for step in STEPS if step.shell is None and not step.experiments)
    assert network_of(replace(page, prose="Read.")) is None
    network = network_of(replace(page, prose="Type `tcptutor shell h1 --experiment tcp-basics/long-path`."))
    assert network is not None
    assert network.name == "tcp-basics/long-path"
    assert (
        network_of(replace(page, prose="Type `tcptutor shell h1 --experiment tcp-basics/no-such`.")) is None
    )
