"""How long tests wait for what must come."""

GIVE_UP_SECONDS = 300
"""How long anything may take before a test calls it broken; far above what it takes on a busy machine."""
