"""Tools for authors: the linter and the runner of claims. Students never load them."""
