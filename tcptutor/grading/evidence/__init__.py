"""A hand-in: a file with a student's journal and runs, readable and verifiable without a lab.

journal, run files     required    the runs that marks need
  -> archive           hand_in     a tar archive: hand-in.json, the journal as lines, the run files
  -> read, bounded     hand_in     from any author: no access outside the file, all sizes bounded
  -> page by page      timeline    a student's actions, in the order of the journal
  -> verified          honesty     the chain of hashes, drawn numbers, runs and their owner, goals reached by hand
                       physics     impossible samples
"""
