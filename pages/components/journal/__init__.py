"""Components of the page Journal."""
