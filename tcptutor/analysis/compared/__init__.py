"""Where expected and observed meet: what limited a run, how far it is from each model and why, and the document."""
