"""Readable trajectories: messages, tool calls, errors and costs."""
