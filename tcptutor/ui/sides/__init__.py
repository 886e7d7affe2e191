"""What stands beside a page while an activity is used."""
