"""Components of the page Concepts."""
