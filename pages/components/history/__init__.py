"""Components of the page History."""
