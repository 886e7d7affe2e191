"""The lab in somebody's own hands: terminals on its hosts, the flows started there, the settings changed there."""
