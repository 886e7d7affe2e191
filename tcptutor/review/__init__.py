"""Reviews: which questions to ask again, and when. A fold over the journal's events: pure, without I/O."""

from tcptutor.review.cards import ReviewCard, Reviews, find_reviews

__all__ = ["ReviewCard", "Reviews", "find_reviews"]
