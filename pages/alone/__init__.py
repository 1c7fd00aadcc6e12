"""The standalone dashboard, for a user on this machine."""
