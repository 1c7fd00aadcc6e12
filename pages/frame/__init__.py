"""Frame around every page: its looks, its address, and the messages that its browser may send."""
