"""Lectures for a room: slides, the state of the screen, votes, and the process that owns them."""
