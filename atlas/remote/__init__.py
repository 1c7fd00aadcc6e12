"""Client of a memory server, with the methods and errors of a local memory."""
