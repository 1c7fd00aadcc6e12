"""Components of the page Ask."""
