"""What this student did, as one append-only list of events in one SQLite file.

    page on screen, response, hint, run     Journal    the owner: visit, respond, hint, begin_run, finish_run
      -> an event with the time             events     JSON, each with a hash over the hash before it
      -> a row of the table `events`        store      on the disk before the call returns, whoever else writes
      -> folded into a record               fold       position, runs, and a PageRecord of each page: pure
      -> page, position, progress           Journal    what the app asks for, read from the record
      -> an exported record                 events     the same events as JSON lines, checked and folded in the same way

What the events came to is kept beside them every so often, so that a start reads the few that are newer; where it
does not match them, it is made again from all. Older journals become events when they are opened (schema).
"""

from tcptutor.journal.fold import Calibration, Progress
from tcptutor.journal.journal import Journal

__all__ = ["Calibration", "Journal", "Progress"]
