"""What the views of several pages share."""
