"""The page: prose, prediction, questions."""
