"""Validation of memory names in requests, and their JSON schema."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from atlas.memory.kinds.table import searchable_kinds


class _CheckedName:
    """Annotation of a string that is the name of a memory, built-in or of a plug-in."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(_validate_name, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "enum": list(searchable_kinds())}


MemoryName = Annotated[str, _CheckedName()]


def _validate_name(name: str) -> str:
    if name not in (names := searchable_kinds()):
        *other_names, last_name = (f"'{known_name}'" for known_name in names)
        raise PydanticCustomError("memory_name", f"Input should be {', '.join(other_names)} or {last_name}")
    return name
