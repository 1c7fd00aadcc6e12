"""Files of the bundled model that are derived from its weights, computed in advance."""
