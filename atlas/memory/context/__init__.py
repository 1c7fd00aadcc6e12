"""Context blocks: the part of an agent's prompt with what is remembered about its task."""
