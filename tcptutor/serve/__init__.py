"""The app in browsers: a web server with login, a session for each student, and a queue for labs."""
