"""Authoring tools: the content linter and the checker of claims. Students never load them.

`claims` judges statements of a page against runs and formulas, `claim_problems` finds mistakes in them and
numbers without a claim, and `page_claims` lists them by page, file and line.
"""
