"""Figures of lesson pages: data from a lesson file, drawn as lines of styled characters and described in words.

Each kind has a module in `tcptutor.figures.kinds`.
"""
