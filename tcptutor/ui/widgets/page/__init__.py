"""Page of a step: prose, predictions, questions, goals."""
