"""Components of the page Strategies."""
