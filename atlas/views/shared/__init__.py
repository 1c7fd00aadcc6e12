"""Parts that the views of several pages share."""
