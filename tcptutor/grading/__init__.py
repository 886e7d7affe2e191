"""Marks, worked out again from the evidence of a hand-in, and the formats in which courses read them.

evidence.hand_in       marking    each activity of each page, by the page's own rules and the course's scheme
  -> Grade             grade      marks with their reasons and their evidence; what the grader should know
  -> results           formats    Gradescope, CSV, JSON
"""
