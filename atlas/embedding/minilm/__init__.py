"""The files of the bundled model that depend on its weights alone, so that no process has to make them."""
