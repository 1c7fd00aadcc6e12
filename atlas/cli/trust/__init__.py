"""Commands against poisoned memories: find them, keep agents from finding them, and withdraw what came from them."""
