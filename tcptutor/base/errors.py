"""The exceptions of tcptutor. Each message is a single line with a remedy.

TutorError                  any error reported to the user in a line; exit code 1
├── UsageError              a request for something that does not exist or is out of bounds; exit code 2
│   ├── UnitError           a quantity without a unit, with a wrong unit, or not a number
│   ├── ParameterError      an unknown parameter, or a value out of its bounds
│   └── ContentError        a damaged or contradictory lesson file; names file, key and reason
├── LabError                a run that began and failed; its data so far is saved; exit code 1
│   ├── AgentDied           the agent, or the guest under it, ended during a run
│   └── ProtocolError       an agent of a different version, or without a valid answer
├── LabUnavailable          the lab cannot run here; exit code 3
│   ├── MissingTool         a program that `tcptutor setup` would install
│   ├── KernelLacks         a kernel feature, or memory, that the experiment needs
│   └── ImageDamaged        a guest image or snapshot that is missing, incomplete or of a different version
├── JournalError            the journal cannot be read or written
└── SetupError              `tcptutor setup` could not finish a part; earlier parts stay installed
"""

from __future__ import annotations

import errno
from collections.abc import Iterable


class TutorError(Exception):
    """Base of all errors raised on purpose. `str(error)` is the line the user reads."""

    exit_code = 1
    """The exit code of the command."""


class UsageError(TutorError):
    exit_code = 2


class UnitError(UsageError):
    pass


class ParameterError(UsageError):
    pass


class ContentError(UsageError):
    pass


class LabError(TutorError):
    pass


class AgentDied(LabError):
    pass


class ProtocolError(LabError):
    pass


class LabUnavailable(TutorError):
    exit_code = 3


class MissingTool(LabUnavailable):
    pass


class KernelLacks(LabUnavailable):
    pass


class ImageDamaged(LabUnavailable):
    pass


class JournalError(TutorError):
    pass


class SetupError(TutorError):
    pass


def near(name: str, names: Iterable[str]) -> str:
    """Suggest names similar to `name`, e.g. "did you mean loss or loss_by?"; empty without a similar name."""
    from difflib import SequenceMatcher  # noqa: PLC0415  # only needed for an error

    name = name[:_QUOTED]
    likeness = {each: SequenceMatcher(a=name.lower(), b=each.lower()).ratio() for each in names}
    best = sorted(likeness, key=lambda each: -likeness[each])[:3]
    # A much better match than the others is suggested alone.
    matches = [each for each in best if likeness[each] >= max(0.6, likeness[best[0]] - 0.1)]
    return f"did you mean {' or '.join(matches)}?" if matches else ""


_QUOTED = 60
"""Characters of user input that a message repeats."""


def quoted(text: object, most: int = _QUOTED) -> str:
    """Return `repr(text)`, truncated to `most` characters."""
    full = str(text)
    return repr(full if len(full) <= most else f"{full[: most - 3]}...")


def unknown(what: str, name: str, names: Iterable[str], otherwise: str = "") -> str:
    """Return the message that rejects `name`, e.g. "no parameter 'los': did you mean loss?".

    Args:
        what: The kind of thing, e.g. "parameter".
        name: The rejected name.
        names: The valid names, listed when none is similar.
        otherwise: Text used in place of that list: how to see the names.
    """
    names = tuple(names)
    return f"no {what} {quoted(name)}: {near(name, names) or otherwise or 'there are ' + (', '.join(names) or 'none')}"


_REMEDIES = {
    errno.ENOSPC: "free some space, or {elsewhere}",
    errno.EDQUOT: "free some space, or {elsewhere}",
    errno.EACCES: "make it writable for you, or {elsewhere}",
    errno.EPERM: "make it writable for you, or {elsewhere}",
    errno.EISDIR: "give the name of a file in it",
    errno.ENAMETOOLONG: "give a shorter name",
}


def refused(error: OSError, elsewhere: str = "give another place") -> str:
    """Explain why a write failed and how to fix it, e.g. "No space left on device: free some space, or ...".

    Args:
        error: The error of the system.
        elsewhere: How the user can choose a different place.
    """
    reason = error.strerror or str(error)
    if error.errno == errno.EEXIST:  # mkdir where a file has this name
        reason = "Not a directory"
    remedy = _REMEDIES.get(error.errno or 0, "{elsewhere}")
    return f"{reason}: {remedy.format(elsewhere=elsewhere)}"
