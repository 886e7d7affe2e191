"""The student's own bench: its knobs, and what is to be expected of them."""
