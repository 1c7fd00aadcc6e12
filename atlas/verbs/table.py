"""All verbs of the memories and of the memory system, with the required role and the interfaces that offer them.

The HTTP API and `atlas.connect` are generated from this table. MCP tools, commands, the texts of History and the docs
on serving are checked against it. Parameters and results come from the method's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from atlas.core.schema.reading import type_bindings
from atlas.infra.actor import Role
from atlas.memory.base.memory import Memory
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.journal import Journal
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.system import MemorySystemImpl
from atlas.verbs.encoding import encode_arguments
from atlas.verbs.values import READERS, decode_arguments, types_of_arguments

SYSTEM, EXPERIENCE, STRATEGIES, CONCEPTS, JOURNAL = "system", "experience", "strategies", "concepts", "journal"

OWNERS: Mapping[str, Any] = {
    SYSTEM: MemorySystemImpl,
    EXPERIENCE: ChromaExperienceMemory,
    STRATEGIES: ChromaStrategyBank,
    CONCEPTS: ChromaConceptLibrary,
    JOURNAL: Journal,
}
"""Classes with the verbs' methods, by attribute name in the memory system."""

EVERY = (EXPERIENCE, STRATEGIES, CONCEPTS, JOURNAL)
MERGEABLE = (EXPERIENCE, STRATEGIES, CONCEPTS)

WRITER, CURATOR = Role.WRITER, Role.CURATOR


@dataclass(frozen=True, slots=True)
class Verb:
    """A public operation of a memory or of the memory system, which the Python API, HTTP, MCP and CLI offer."""

    name: str
    """Name of the verb, and of the method that implements it."""

    owners: tuple[str, ...] = EVERY
    """Names of the memories with the verb, or of the memory system."""

    role: Role = Role.VIEWER
    """Lowest role that may call the verb."""

    kind: str = ""
    """Kind of the verb's operations in the history, or empty for read-only verbs."""

    tools: tuple[str, ...] = ()
    """MCP tools that offer the verb."""

    commands: tuple[str, ...] = ()
    """Commands that offer the verb."""

    is_store_wide: bool = False
    """True if the verb affects the whole store, so that keys with a scope may not call it."""

    remote_name: str = ""
    """Name of another verb that `atlas.connect` calls instead, or empty to call this verb."""

    def method(self, owner: str) -> Callable[..., Any]:
        """Return the method that implements the verb in the owner's class."""
        method: Callable[..., Any] = getattr(OWNERS[owner], self.name)
        return method

    def decode_arguments(self, owner: str, encoded: Any) -> dict[str, Any]:
        """Return the arguments of a call from their JSON form, keyed by name, or raise `InvalidInput`."""
        return decode_arguments(self.method(owner), encoded, OWNERS[owner], record_class(owner))

    def encode_arguments(
        self, owner: str, arguments: tuple[Any, ...], keyword_arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments of a call in JSON form, keyed by name, or raise `InvalidInput`."""
        return encode_arguments(self.method(owner), arguments, keyword_arguments, OWNERS[owner], record_class(owner))

    def decode_result(self, owner: str, encoded: Any) -> Any:
        """Return the result of a call from its JSON form."""
        return READERS.read(self.types(owner)["return"], encoded, "the result")

    def types(self, owner: str) -> dict[str, Any]:
        """Return the types of the verb's arguments, keyed by name, and the type of its result under `return`."""
        return types_of_arguments(self.method(owner), OWNERS[owner])


def record_class(owner: str) -> Any:
    """Return the class of a memory's records, or None for the memory system."""
    [variable] = get_args(Memory.__orig_bases__[-1])  # type: ignore[attr-defined]
    return type_bindings(OWNERS[owner]).get(variable)


VERBS: tuple[Verb, ...] = (
    # Search
    Verb("retrieve", tools=("search",), commands=("search",)),
    Verb("retrieve_words", tools=("search",), commands=("search",)),
    Verb("search_hits"),
    Verb("search_words"),
    Verb("search", owners=(EXPERIENCE, CONCEPTS, JOURNAL)),
    Verb("read", owners=(STRATEGIES,)),
    Verb("similar", tools=("search",), commands=("similar",)),
    Verb("passage"),
    Verb("met_words"),
    Verb("filter_notes"),
    Verb("level"),
    Verb("level_costs", commands=("level",), is_store_wide=True),
    Verb("shown_hits"),
    Verb("calibrate", is_store_wide=True),
    # Listing
    Verb("get", tools=("read",), commands=("show",)),
    Verb("get_many"),
    Verb("embedding"),
    Verb("browse"),
    Verb("count"),
    Verb("values"),
    Verb("ids"),
    Verb("column"),
    Verb("titles"),
    Verb("counts_by_day"),
    Verb("never_retrieved"),
    Verb("stale"),
    Verb("marks"),
    Verb("usage"),
    Verb("trash", commands=("trash",), is_store_wide=True),
    Verb("count_trash", is_store_wide=True),
    Verb("purged", is_store_wide=True),
    Verb("export", owners=MERGEABLE, commands=("export",)),
    Verb("versions", owners=(STRATEGIES, CONCEPTS)),
    # Changes
    Verb("store", owners=(EXPERIENCE,), role=WRITER, kind="store"),
    Verb("store_many", owners=(EXPERIENCE,), role=WRITER, kind="store"),
    Verb("add", owners=(STRATEGIES, CONCEPTS, JOURNAL), role=WRITER, kind="store", tools=("add_strategy", "note")),
    Verb("add_many", owners=(CONCEPTS,), role=WRITER, kind="store"),
    Verb("add_entries", owners=(JOURNAL,), role=WRITER, kind="store"),
    Verb("edit", role=WRITER, kind="edit", tools=("edit",)),
    Verb("forget", role=WRITER, kind="forget", tools=("forget",)),
    Verb("record_use", role=WRITER, tools=("record_use",)),
    Verb("update_stats", owners=(STRATEGIES, CONCEPTS), role=WRITER),
    Verb("mark", role=WRITER, kind="mark"),
    Verb("change_marks", role=WRITER, kind="mark", tools=("mark",), commands=("tag",)),
    Verb("release", role=CURATOR, kind="accept"),
    Verb("delete", role=CURATOR, kind="delete"),
    Verb("restore", role=CURATOR, kind="restore", commands=("trash",), is_store_wide=True),
    Verb("plan_merge", owners=MERGEABLE, commands=("merge",)),
    Verb("apply_merge", owners=MERGEABLE, role=CURATOR, kind="merge", commands=("merge",)),
    Verb("merge", owners=MERGEABLE, role=CURATOR, kind="merge"),
    # Experiences
    Verb("plan_prune", owners=(EXPERIENCE,), commands=("prune",)),
    Verb("apply_prune", owners=(EXPERIENCE,), role=CURATOR, kind="prune", commands=("prune",)),
    Verb("prune", owners=(EXPERIENCE,), role=CURATOR, kind="prune"),
    Verb("plan_outcomes", owners=(EXPERIENCE,)),
    Verb("apply_outcomes", owners=(EXPERIENCE,), role=WRITER, kind="outcome"),
    Verb(
        "report_outcomes",
        owners=(EXPERIENCE,),
        role=WRITER,
        kind="outcome",
        tools=("report_outcomes",),
        commands=("judge",),
    ),
    Verb("refine", owners=(EXPERIENCE,), role=WRITER),  # it may ask a language model
    Verb("check_refine", owners=(EXPERIENCE,), commands=("refine",)),
    Verb("apply_refine", owners=(EXPERIENCE,), role=CURATOR, kind="refine", commands=("refine",)),
    # Strategies
    Verb("rate", owners=(STRATEGIES,)),
    Verb("rates", owners=(STRATEGIES,)),
    Verb("attempts", owners=(STRATEGIES,)),
    Verb("attempts_of", owners=(STRATEGIES,)),
    Verb("plan_write", owners=(STRATEGIES,), role=WRITER),
    Verb("apply_write", owners=(STRATEGIES,), role=WRITER, kind="store"),
    Verb("write", owners=(STRATEGIES,), role=WRITER, kind="store"),
    Verb("retire", owners=(STRATEGIES,), role=WRITER),
    Verb("unretire", owners=(STRATEGIES,), role=WRITER),
    Verb("retired", owners=(STRATEGIES,)),
    # Concepts
    Verb("composable", owners=(CONCEPTS,)),
    Verb("compose", owners=(CONCEPTS,), role=WRITER),  # it may ask a language model
    Verb("explain_composition", owners=(CONCEPTS,), role=WRITER),
    Verb("dependents", owners=(CONCEPTS,)),
    Verb("depends_on", owners=(CONCEPTS,)),
    Verb("uses", owners=(CONCEPTS,)),
    # The journal
    Verb("recent", owners=(JOURNAL,)),
    Verb("get_recent", owners=(JOURNAL,)),
    Verb("get_by_type", owners=(JOURNAL,)),
    Verb("context_for_task", owners=(JOURNAL,)),
    Verb("context_for_task_generation", owners=(JOURNAL,)),
    Verb("context_for_evolution", owners=(JOURNAL,)),
    Verb("linked", owners=(JOURNAL,)),
    Verb("link", owners=(JOURNAL,), role=WRITER, kind="link"),
    Verb("unlink", owners=(JOURNAL,), role=WRITER, kind="unlink"),
    Verb("suggest_links", owners=(JOURNAL,)),
    Verb("accept_link", owners=(JOURNAL,), role=WRITER, kind="link"),
    Verb("refuse_link", owners=(JOURNAL,), role=WRITER, kind="refuse a link"),
    Verb("gates", owners=(JOURNAL,)),
    Verb("switch_gate", owners=(JOURNAL,), role=CURATOR, is_store_wide=True),
    Verb("register_type", owners=(JOURNAL,), role=CURATOR, is_store_wide=True),
    Verb("rejected", owners=(JOURNAL,)),
    Verb("accept", owners=(JOURNAL,), role=WRITER, kind="accept"),
    Verb("plan_compact", owners=(JOURNAL,), role=WRITER),  # it may ask a language model
    Verb("check_compact", owners=(JOURNAL,)),
    Verb("apply_compact", owners=(JOURNAL,), role=CURATOR, kind="compact"),
    Verb("compact", owners=(JOURNAL,), role=CURATOR, kind="compact"),
    Verb("note_promotion", owners=(JOURNAL,), role=WRITER),
    # All memories
    Verb("build_context", owners=(SYSTEM,), tools=("recall",)),
    Verb("query_sync", owners=(SYSTEM,)),
    Verb("store", owners=(SYSTEM,), role=WRITER, kind="store", remote_name="store_once"),  # it may be sent again
    Verb("store_once", owners=(SYSTEM,), role=WRITER, kind="store", tools=("store_attempt",)),
    Verb("judge", owners=(SYSTEM,), role=WRITER, is_store_wide=True),
    Verb("judgements", owners=(SYSTEM,), is_store_wide=True),
    Verb("memory_effect", owners=(SYSTEM,), is_store_wide=True),
    Verb("strictness", owners=(SYSTEM,), commands=("level",)),
    Verb("plan_strictness", owners=(SYSTEM,), commands=("level",), is_store_wide=True),
    Verb(
        "apply_strictness", owners=(SYSTEM,), role=CURATOR, kind="strictness", commands=("level",), is_store_wide=True
    ),
    Verb("curation_loss", owners=(SYSTEM,), is_store_wide=True),
    Verb("compression_status", owners=(SYSTEM,), is_store_wide=True),
    Verb("plan_promotion", owners=(SYSTEM,)),
    Verb("apply_promotion", owners=(SYSTEM,), role=WRITER),
    Verb("plan_withdrawal", owners=(SYSTEM,), commands=("withdraw",), is_store_wide=True),
    Verb("apply_withdrawal", owners=(SYSTEM,), role=CURATOR, kind="delete", commands=("withdraw",), is_store_wide=True),
    Verb("scan", owners=(SYSTEM,), commands=("scan",)),
    Verb("trust", owners=(SYSTEM,)),
    Verb("quarantine", owners=(SYSTEM,), role=CURATOR, kind="quarantine", commands=("quarantine",)),
    Verb("unquarantine", owners=(SYSTEM,), role=CURATOR, kind="quarantine", commands=("quarantine",)),
    Verb("quarantined", owners=(SYSTEM,), commands=("quarantine",)),
    Verb("history", owners=(SYSTEM,), tools=("history",), commands=("history",)),
    Verb("count_operations", owners=(SYSTEM,)),
    Verb("operation", owners=(SYSTEM,)),
    Verb("changes", owners=(SYSTEM,)),
    Verb("actors", owners=(SYSTEM,), is_store_wide=True),
    Verb("revision", owners=(SYSTEM,)),
    Verb("undo", owners=(SYSTEM,), role=WRITER, kind="undo", tools=("undo",), commands=("undo",)),
    Verb("plan_undo", owners=(SYSTEM,), role=WRITER),
    Verb("apply_undo", owners=(SYSTEM,), role=WRITER, kind="undo"),
)

FILE_METHODS = frozenset(
    {
        "freeze",
        "plan_purge",
        "apply_purge",
        "compress",
        "load_primitives",
        "primitive_updates",
        "update_primitives",
        "restore_many",
    }
)
"""Methods that need the store's files or run the caller's code: copies, purges, compression and imports."""

LOCAL_METHODS = frozenset(
    {
        "as_operation",
        "close",
        "exclude",
        "query",
        "plan_refine",
        "ranked_with",
        "to_pandas",
        "with_abstractor",
        "with_loss",
        "without",
        "with_updater",
        "within",
    }
)
"""Methods with in-process arguments or results. A remote memory has its own `close` and `query`."""


def verbs_of(owner: str) -> tuple[Verb, ...]:
    """Return the verbs of a memory class or of the memory system, in the order of the table."""
    return tuple(verb for verb in VERBS if owner in verb.owners)


ROLES: Mapping[str, Role] = {
    f"{'memory' if owner == SYSTEM else owner}.{verb.name}": verb.role for verb in VERBS for owner in verb.owners
}
"""Lowest role of each verb, by qualified name such as `experience.delete`."""
