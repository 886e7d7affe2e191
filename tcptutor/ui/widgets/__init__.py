"""Widgets, in folders by region of the screen: status lines, page (text and questions), bench (the run)."""
