"""The exceptions of tcptutor. Each message is one line that says what to do next.

TutorError                  anything we tell the user in one line; exit code 1
├── UsageError              the user asked for something that does not exist or is out of bounds; exit code 2
│   ├── UnitError           a quantity without a unit, with a wrong one, or not a number
│   ├── ParameterError      an unknown parameter, or a value out of its bounds
│   └── ContentError        a lesson file that is damaged or contradicts itself; names file, key and reason
├── LabError                a run that began and failed; what had arrived is kept; exit code 1
│   ├── AgentDied           the agent, or the guest under it, ended during a run
│   └── ProtocolError       an agent that speaks another version, or not at all
├── LabUnavailable          the lab cannot run here; exit code 3
│   ├── MissingTool         a program that `tcptutor setup` would install
│   ├── KernelLacks         a kernel feature, or memory, that the experiment needs
│   └── ImageDamaged        a guest image or snapshot that is missing, incomplete or of another version
├── JournalError            the journal cannot be read or written
└── SetupError              `tcptutor setup` could not finish a part; the parts before it stay
"""

from __future__ import annotations

import errno
from collections.abc import Iterable


class TutorError(Exception):
    """Base of all errors we raise on purpose. `str(error)` is the one line the user reads."""

    exit_code = 1
    """What the command ends with."""


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
    """What `name` may have been meant for, such as "did you mean loss or loss_by?"; empty when nothing is near."""
    from difflib import SequenceMatcher  # noqa: PLC0415  # only who is refused waits for it

    name = name[:_QUOTED]
    likeness = {each: SequenceMatcher(a=name.lower(), b=each.lower()).ratio() for each in names}
    nearest = sorted(likeness, key=lambda each: -likeness[each])[:3]
    # A name that is much nearer than the others is the one.
    found = [each for each in nearest if likeness[each] >= max(0.6, likeness[nearest[0]] - 0.1)]
    return f"did you mean {' or '.join(found)}?" if found else ""


_QUOTED = 60
"""Characters of what somebody wrote that a message repeats."""


def quoted(text: object, most: int = _QUOTED) -> str:
    """What somebody wrote, in quotes, on one line and at most so many characters of it."""
    said = str(text)
    return repr(said if len(said) <= most else f"{said[: most - 3]}...")


def unknown(what: str, name: str, names: Iterable[str], otherwise: str = "") -> str:
    """The line that refuses `name`, with what was meant, such as "no parameter 'los': did you mean loss?".

    Where nothing is near it names all `names`, or says `otherwise`, which tells how to see them.
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
    """Why something could not be written and what to do about it, such as "No space left on device: free some ...".

    `elsewhere` is how the user would give another place; often nothing else helps.
    """
    reason = error.strerror or str(error)
    if error.errno == errno.EEXIST:  # said of a folder that is to be made and is a file
        reason = "Not a directory"
    remedy = _REMEDIES.get(error.errno or 0, "{elsewhere}")
    return f"{reason}: {remedy.format(elsewhere=elsewhere)}"
