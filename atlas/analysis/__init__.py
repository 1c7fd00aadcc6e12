"""Former paths of `atlas.maps`, kept for one release."""
