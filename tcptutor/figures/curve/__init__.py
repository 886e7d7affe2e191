"""Curves of laws: points by name of a law, scales, drawing and description."""
