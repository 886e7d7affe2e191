"""The agent's protocol: another version is told at either end, and what an earlier one wrote is still read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

import msgspec
import pytest

from tcptutor.agent.channel import Channel
from tcptutor.backends import host
from tcptutor.backends.events import next_event
from tcptutor.backends.host import HostBackend
from tcptutor.base.errors import AgentDied, LabUnavailable, ProtocolError
from tcptutor.run import Environment
from tcptutor.wire import protocol
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Failed, Hello, OpenSession, Ready, Request, RunDetected, RunExperiment
from tests.backends.play import play
from tests.conftest import Build

AGAIN = "run sh tcptutor/start in its repository, then `tcptutor setup --again`"


@pytest.fixture
def ends() -> Iterator[tuple[Channel, int, list[bytes]]]:
    """The agent's channel, the client's end of it, and what the agent has answered."""
    there, here = os.pipe()
    answers: list[bytes] = []
    yield Channel(there, answers.append), here, answers
    os.close(there)
    os.close(here)


@pytest.mark.parametrize("kind", ["hello", "run", "session"])
@pytest.mark.parametrize("version", [2, 99, None])
def test_the_agent_does_nothing_for_a_client_of_another_version(
    build: Build, ends: tuple[Channel, int, list[bytes]], kind: str, version: int | None
) -> None:
    """Versions before 3 sent none with a run or a session."""
    channel, client, answers = ends
    requests: dict[str, Request] = {
        "hello": Hello(), "run": RunExperiment(build()), "session": OpenSession(build()),
    }  # fmt: skip
    line = msgspec.json.decode(protocol.line(requests[kind]))
    assert line.pop("version") == protocol.VERSION
    told = {} if version is None else {"version": version}
    os.write(client, msgspec.json.encode({**line, **told, "news": 1}) + b"\n" + protocol.line(requests[kind]))
    assert channel.receive(5) == requests[kind]
    (answer,) = map(protocol.event, answers)
    assert isinstance(answer, Failed)
    assert answer.kind == "protocol"
    assert answer.reason == (
        f"this tcptutor speaks version {version or 'unknown'} of the lab's protocol and the lab's agent version"
        f" {protocol.VERSION}: {AGAIN}"
    )


def test_what_is_no_request_is_told(ends: tuple[Channel, int, list[bytes]]) -> None:
    channel, client, answers = ends
    os.write(client, b'{"type": "wish"}\nno JSON\n' + protocol.line(Hello()))
    assert channel.receive(5) == Hello()
    for answer in map(protocol.event, answers):
        assert isinstance(answer, Failed)
        assert answer.reason.startswith(f"not a request of protocol {protocol.VERSION}: ")
    assert len(answers) == 2


async def test_the_client_takes_no_agent_of_another_version() -> None:
    here = Environment(backend="host", clock="real", kernel="6.1")
    answers = [protocol.line(Ready(protocol.VERSION, here)), protocol.line(Ready(2, here)), b'{"type":"rea']

    async def readline() -> bytes:
        return answers.pop(0)

    async def silent() -> str:
        return ""

    ask = partial(next_event, readline, 5, "the guest", silent)
    assert await ask() == Ready(protocol.VERSION, here)
    with pytest.raises(
        ProtocolError,
        match=r"the lab's agent speaks version 2 .* and this tcptutor version "
        rf"{protocol.VERSION}: run sh tcptutor/start",
    ):
        await ask()
    with pytest.raises(AgentDied, match="run the experiment again"):
        await ask()


@pytest.mark.host
@pytest.mark.usefixtures("ordinary_user")
async def test_a_real_agent_says_so_and_stays_usable(
    mark: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = build(rate="20 Mbit/s", algorithm="reno", duration="1 s", warmup="0")
    backend = HostBackend()
    try:
        with monkeypatch.context() as other:
            other.setattr(host, "Hello", partial(Hello, 2))
            with pytest.raises(LabUnavailable, match=f"this tcptutor speaks version 2 .*: {AGAIN}"):
                await backend.open()
        await backend.open()
        with monkeypatch.context() as other:
            other.setattr(host, "RunExperiment", partial(RunExperiment, version=2))
            with pytest.raises(ProtocolError, match=AGAIN):
                await play(backend, experiment)
        assert (await play(backend, experiment)).complete
        with monkeypatch.context() as other:
            other.setattr(host, "OpenSession", partial(OpenSession, version=2))
            with pytest.raises(ProtocolError, match=AGAIN):
                async with backend.session(experiment):
                    pass
    finally:
        await backend.close()


def test_events_of_version_2_are_read(build: Build) -> None:
    """As a run's part may hold them that tcptutor was killed over, before it was updated."""
    experiment = build(rate="8 Mbit/s")
    inside = msgspec.json.encode(experiment)
    read = protocol.event_decoder.decode
    assert read(b'{"type":"session-state","experiment":%s}' % inside) == SessionState(experiment, (), ())
    assert read(b'{"type":"run-detected","experiment":%s}' % inside) == RunDetected(experiment)
    ready = read(
        b'{"type":"ready","version":2,"environment":{"backend":"host","clock":"real","kernel":"6.1"}}'
    )
    assert isinstance(ready, Ready)
