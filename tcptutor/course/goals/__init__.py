"""Goals of hands-on pages: parsed, judged by the kernel's state, with hints on near misses.

[[shell.goal]]           goal.Goal        the lesson file's definition
  -> conditions          terms, goal      a quantity, and its required values
a session's events       watch.GoalWatch  states and runs (lab_view), each judged on new events
  -> near misses         near_misses/     a rule for each kind
  -> a board             goal.GoalBoard   frozen: shown on the page, printed by `tcptutor check`
"""
