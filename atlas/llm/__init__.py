"""Language models: the client, structured answers, prompts and token budgets."""
