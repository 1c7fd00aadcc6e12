"""Where a store is, and what it keeps there that is no memory: who may enter, and what happened."""
