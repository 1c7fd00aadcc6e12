"""How much of what is right each way to shrink a memory leaves to be found."""
