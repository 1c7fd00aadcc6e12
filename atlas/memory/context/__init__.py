"""Context blocks: the part of an agent's prompt with the memories about its task."""
