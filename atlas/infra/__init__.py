"""Tools for sync and async code, processes and forks, whatever they are used for."""
