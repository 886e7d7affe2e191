"""Web server for the app in browsers: logins, a session per student, and a queue for labs."""
