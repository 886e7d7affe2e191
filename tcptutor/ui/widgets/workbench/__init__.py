"""The student's workbench: knobs, and the forecast for their settings."""
