"""Learning reusable Python functions from programs that worked. It knows nothing of stores."""
