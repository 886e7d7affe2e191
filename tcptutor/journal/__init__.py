"""What this student did: answers, predictions, hints, runs and the place in the course, in one SQLite file.

Everything is committed before the call returns, so nothing is lost when the terminal goes away.
"""

from tcptutor.journal.journal import Journal
from tcptutor.journal.records import Answer, Kept, Progress

__all__ = ["Answer", "Journal", "Kept", "Progress"]
