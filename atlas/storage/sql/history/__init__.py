"""The history of a store: operations, earlier versions, undo, the trash and purges."""
