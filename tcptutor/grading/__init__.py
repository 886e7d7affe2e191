"""Marks, worked out again from the evidence of a hand-in, and what courses read of them.

evidence.hand_in       marking    each activity of each page, by the page's own rules and the course's scheme
  -> Grade             grade      marks with their reasons and their evidence; what the grader should know
  -> many of them      batch      side by side, from the cache where they were graded before
  -> results           formats    Gradescope, CSV, JSON ...
  -> Survey            survey     what a class did; `views` has it as tables, `web` as a page

banks                             the course's questions, for other systems to ask
"""
