"""Components of the page Evaluation."""
