"""The lines at the top and at the bottom."""
