"""Detection of texts that try to instruct the agent reading them: orders, tool calls, hidden and encoded text."""
