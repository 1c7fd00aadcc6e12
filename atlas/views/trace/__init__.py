"""Trajectories as a person reads them: who spoke, which tools were called, what went wrong and what it took."""
