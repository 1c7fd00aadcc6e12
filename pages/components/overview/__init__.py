"""Components of the page Overview."""
