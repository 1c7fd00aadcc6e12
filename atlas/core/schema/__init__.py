"""Dataclasses as JSON and back, by the types of their fields.

The dataclass is the one description of a record's JSON. The ledger, export and import, and the results of jobs use it.
"""

from atlas.core.schema.encoding import decode, decode_instant, encode, encode_instant
from atlas.core.schema.reading import IF_MISSING, REQUIRED

__all__ = ["IF_MISSING", "REQUIRED", "decode", "decode_instant", "encode", "encode_instant"]
