"""A student's actions, as an append-only list of events in a single SQLite file.

page on screen, response, hint, run     Journal    the owner: visit, respond, hint, begin_run, finish_run
  -> an event with the time             events     JSON, each with a hash over the hash before it
  -> appended, or waiting to be         event_log  on the disk before the call returns
  -> a row of the table `events`        store      SQLite, with damaged files set aside
  -> folded into a record               fold       position, runs, and a PageRecord of each page: pure
  -> page, position, progress           Journal    the app's queries, answered from the record
  -> an exported record                 chains     the same events as JSON lines, checked and folded alike
  -> merged with another machine's      merging    rows that hold its events word for word
  -> in the order of both machines      order      by time, the same whoever imported from whom
"""

from tcptutor.journal.fold import Calibration, Progress
from tcptutor.journal.journal import Journal, opened_journal

__all__ = ["Calibration", "Journal", "Progress", "opened_journal"]
