"""Views of the settings page: the store, its copies, models and checks, and loadable data."""
