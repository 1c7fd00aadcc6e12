"""Components of the page Curate."""
