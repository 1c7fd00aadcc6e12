"""Components of the page Experiences."""
