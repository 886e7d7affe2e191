"""A lecture in front of a room: its slides, what is on screen, votes, and the process that keeps them."""
