"""Views of the settings page: the store, its copies, its models, its checks and what can be loaded into it."""
