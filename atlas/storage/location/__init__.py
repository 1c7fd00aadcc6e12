"""The location of a store, with its access rights and audit log."""
