"""Learning reusable Python functions from programs that worked; knows nothing of stores."""
