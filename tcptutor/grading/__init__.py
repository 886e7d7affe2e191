"""Grading: marks computed from the evidence of a hand-in, and the formats and reports that courses need.

evidence.hand_in       marking    each activity of each page, by the page's own rules and the course's scheme
  -> Grade             grade      marks with their reasons and their evidence; remarks for the grader
  -> many of them      batch      in parallel, or from the cache where they were graded before
  -> results           formats    Gradescope, CSV, JSON ...
  -> Survey            survey     the work of a class; `views` renders it as tables, `web` as a page

banks                             the course's questions, for other systems to ask
"""
