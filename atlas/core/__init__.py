"""Basic types and protocols of ATLAS: records, errors, settings, text and JSON."""
