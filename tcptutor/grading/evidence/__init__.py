"""A hand-in: one file with all that a student did, which can be read and checked without a lab.

journal, run files     wanted      the runs that marks need
  -> one file          hand_in     a tar archive: hand-in.json, the journal as lines, the run files
  -> read, bounded     hand_in     whoever wrote it: no file outside it, nothing without bounds
  -> page by page      timeline    what was done, in the order of the journal
  -> is it so?         honesty     the chain of hashes, numbers that were drawn, runs and what they belong to
                       physics     what a run's samples cannot be
"""
