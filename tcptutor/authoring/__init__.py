"""Authoring tools: the content linter and the checker of claims. Students never load them."""
