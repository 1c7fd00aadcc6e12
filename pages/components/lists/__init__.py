"""Components of lists and panels."""
