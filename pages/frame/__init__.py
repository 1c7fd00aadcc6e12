"""Frame around every page: its looks, and the messages that its browser may send."""
