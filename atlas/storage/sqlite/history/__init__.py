"""What was done to a store: operations, earlier versions, undo, the trash and purges."""
