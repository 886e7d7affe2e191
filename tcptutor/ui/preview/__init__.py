"""`tcptutor preview`: a course's pages as the app shows them, read again at each save, next to the linter's lines."""
