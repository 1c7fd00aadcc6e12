"""Components of the page Settings."""
