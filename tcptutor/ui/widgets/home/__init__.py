"""Parts of the home screen."""
