"""Adapters that give a memory to an agent framework. Each module imports the packages of its framework only."""
