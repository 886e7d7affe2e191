"""Web page where students join and vote from their phones, and its terminal client."""
