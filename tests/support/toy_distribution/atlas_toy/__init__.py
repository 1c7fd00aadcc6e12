"""A toy plug-in of each kind."""
