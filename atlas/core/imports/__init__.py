"""Late imports: names of packages when they are used, and plug-ins when they are called."""
