"""What a run means: measured against expected, why limited, how sure."""
