"""Running programs of unknown origin within limits, to verify that they still do the same."""
