"""Commands against poisoned memories: scan for them, quarantine them, and withdraw records derived from them."""
