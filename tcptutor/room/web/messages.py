"""JSON messages between programs and the server of the students' page."""

from __future__ import annotations

import msgspec

from tcptutor.room.votes import VoterView


class JoinBody(msgspec.Struct, forbid_unknown_fields=True):
    """Request to join."""

    code: str
    name: str = ""


class JoinAnswer(msgspec.Struct, frozen=True):
    """Answer to a request to join."""

    token: str


class VoteBody(msgspec.Struct, forbid_unknown_fields=True):
    """Request to vote; its answer is a `votes.Receipt`."""

    poll: str
    answer: int | str


class ViewAnswer(msgspec.Struct, frozen=True):
    """Answer to a request for the view."""

    version: str
    """Version to wait after."""
    view: VoterView


class RefusalAnswer(msgspec.Struct, frozen=True):
    """Answer to a refused request."""

    error: str
    """Single-line text."""
