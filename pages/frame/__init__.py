"""What stands around every page: its looks, and what its browser may say to the server."""
