"""Goals of a page that is done with one's hands: read, judged by what the kernel holds, and told how near they are.

[[shell.goal]]           goal.Goal        what a lesson file says
  -> conditions          terms, wanted    a quantity, and the values that are asked of it
a session's events       watch.GoalWatch  states and runs (lab_view, lab_run), each judged when something is told
  -> what is nearly so   near/            a rule for each kind of near miss
  -> a board             board.GoalBoard  frozen: shown on the page, printed by `tcptutor check`
"""
