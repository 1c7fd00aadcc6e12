"""What sync and async code, processes and forks need, whatever they are used for."""
