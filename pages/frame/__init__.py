"""Frame around every page: style, URL, and allowed browser messages."""
