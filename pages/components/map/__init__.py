"""Components of the page Map."""
