"""The place of a store, and its data beside the memories: access rights and the audit log."""
