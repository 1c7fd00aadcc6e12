"""The former path of `atlas.learning`, kept for one release."""
