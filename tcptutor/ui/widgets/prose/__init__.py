"""Texts of a page with their figures."""
