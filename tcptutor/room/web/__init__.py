"""The page on which students join and vote from their phones, and the terminal client of it."""
