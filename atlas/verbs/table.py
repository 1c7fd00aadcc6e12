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
    """Name of its method."""

    of: tuple[str, ...] = EVERY
    """Memories with the verb, or the memory system."""

    role: Role = Role.VIEWER
    """Lowest role that may call the verb."""

    kind: str = ""
    """Kind of its operation in the history, or empty for read-only verbs."""

    tools: tuple[str, ...] = ()
    """MCP tools that offer the verb."""

    commands: tuple[str, ...] = ()
    """Commands that offer the verb."""

    is_of_store: bool = False
    """True if the verb affects the whole store, so that keys with a scope may not call it."""

    sent_as: str = ""
    """Verb that `atlas.connect` calls instead, or empty for itself."""

    def method(self, owner: str) -> Callable[..., Any]:
        """Return the method that implements the verb in a class."""
        method: Callable[..., Any] = getattr(OWNERS[owner], self.name)
        return method

    def decode_arguments(self, owner: str, encoded: Any) -> dict[str, Any]:
        """Return the arguments of a call from their JSON form, keyed by name, or raise `InvalidInput`."""
        return decode_arguments(self.method(owner), encoded, OWNERS[owner], record_kind(owner))

    def encode_arguments(
        self, owner: str, arguments: tuple[Any, ...], keyword_arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments of a call in JSON form, keyed by name, or raise `InvalidInput`."""
        return encode_arguments(self.method(owner), arguments, keyword_arguments, OWNERS[owner], record_kind(owner))

    def decode_result(self, owner: str, encoded: Any) -> Any:
        """Return the result of a call from its JSON form."""
        return READERS.read(self.types(owner)["return"], encoded, "the result")

    def types(self, owner: str) -> dict[str, Any]:
        """Return the types of the verb's arguments, keyed by name, and the type of its result under `return`."""
        return types_of_arguments(self.method(owner), OWNERS[owner])


def record_kind(owner: str) -> Any:
    """Return the class of a memory's records, or None for the memory system."""
    [variable] = get_args(Memory.__orig_bases__[-1])  # type: ignore[attr-defined]
    return type_bindings(OWNERS[owner]).get(variable)


VERBS: tuple[Verb, ...] = (
    # Search
    Verb("retrieve", tools=("search",), commands=("search",)),
    Verb("retrieve_words", tools=("search",), commands=("search",)),
    Verb("search_hits"),
    Verb("search_words"),
    Verb("search", of=(EXPERIENCE, CONCEPTS, JOURNAL)),
    Verb("read", of=(STRATEGIES,)),
    Verb("similar", tools=("search",), commands=("similar",)),
    Verb("passage"),
    Verb("met_words"),
    Verb("filter_notes"),
    Verb("level"),
    Verb("level_costs", commands=("level",), is_of_store=True),
    Verb("shown_hits"),
    Verb("calibrate", is_of_store=True),
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
    Verb("trash", commands=("trash",), is_of_store=True),
    Verb("count_trash", is_of_store=True),
    Verb("purged", is_of_store=True),
    Verb("export", of=MERGEABLE, commands=("export",)),
    Verb("versions", of=(STRATEGIES, CONCEPTS)),
    # Changes
    Verb("store", of=(EXPERIENCE,), role=WRITER, kind="store"),
    Verb("store_many", of=(EXPERIENCE,), role=WRITER, kind="store"),
    Verb("add", of=(STRATEGIES, CONCEPTS, JOURNAL), role=WRITER, kind="store", tools=("add_strategy", "note")),
    Verb("add_many", of=(CONCEPTS,), role=WRITER, kind="store"),
    Verb("add_entries", of=(JOURNAL,), role=WRITER, kind="store"),
    Verb("edit", role=WRITER, kind="edit", tools=("edit",)),
    Verb("forget", role=WRITER, kind="forget", tools=("forget",)),
    Verb("record_use", role=WRITER, tools=("record_use",)),
    Verb("update_stats", of=(STRATEGIES, CONCEPTS), role=WRITER),
    Verb("mark", role=WRITER, kind="mark"),
    Verb("change_marks", role=WRITER, kind="mark", tools=("mark",), commands=("tag",)),
    Verb("release", role=CURATOR, kind="accept"),
    Verb("delete", role=CURATOR, kind="delete"),
    Verb("restore", role=CURATOR, kind="restore", commands=("trash",), is_of_store=True),
    Verb("plan_merge", of=MERGEABLE, commands=("merge",)),
    Verb("apply_merge", of=MERGEABLE, role=CURATOR, kind="merge", commands=("merge",)),
    Verb("merge", of=MERGEABLE, role=CURATOR, kind="merge"),
    # Experiences
    Verb("plan_prune", of=(EXPERIENCE,), commands=("prune",)),
    Verb("apply_prune", of=(EXPERIENCE,), role=CURATOR, kind="prune", commands=("prune",)),
    Verb("prune", of=(EXPERIENCE,), role=CURATOR, kind="prune"),
    Verb("plan_outcomes", of=(EXPERIENCE,)),
    Verb("apply_outcomes", of=(EXPERIENCE,), role=WRITER, kind="outcome"),
    Verb(
        "report_outcomes",
        of=(EXPERIENCE,),
        role=WRITER,
        kind="outcome",
        tools=("report_outcomes",),
        commands=("judge",),
    ),
    Verb("refine", of=(EXPERIENCE,), role=WRITER),  # it may ask a language model
    Verb("check_refine", of=(EXPERIENCE,), commands=("refine",)),
    Verb("apply_refine", of=(EXPERIENCE,), role=CURATOR, kind="refine", commands=("refine",)),
    # Strategies
    Verb("rate", of=(STRATEGIES,)),
    Verb("rates", of=(STRATEGIES,)),
    Verb("attempts", of=(STRATEGIES,)),
    Verb("attempts_of", of=(STRATEGIES,)),
    Verb("plan_write", of=(STRATEGIES,), role=WRITER),
    Verb("apply_write", of=(STRATEGIES,), role=WRITER, kind="store"),
    Verb("write", of=(STRATEGIES,), role=WRITER, kind="store"),
    Verb("retire", of=(STRATEGIES,), role=WRITER),
    Verb("unretire", of=(STRATEGIES,), role=WRITER),
    Verb("retired", of=(STRATEGIES,)),
    # Concepts
    Verb("composable", of=(CONCEPTS,)),
    Verb("compose", of=(CONCEPTS,), role=WRITER),  # it may ask a language model
    Verb("explain_composition", of=(CONCEPTS,), role=WRITER),
    Verb("dependents", of=(CONCEPTS,)),
    Verb("depends_on", of=(CONCEPTS,)),
    Verb("uses", of=(CONCEPTS,)),
    # The journal
    Verb("recent", of=(JOURNAL,)),
    Verb("get_recent", of=(JOURNAL,)),
    Verb("get_by_type", of=(JOURNAL,)),
    Verb("context_for_task", of=(JOURNAL,)),
    Verb("context_for_task_generation", of=(JOURNAL,)),
    Verb("context_for_evolution", of=(JOURNAL,)),
    Verb("linked", of=(JOURNAL,)),
    Verb("link", of=(JOURNAL,), role=WRITER, kind="link"),
    Verb("unlink", of=(JOURNAL,), role=WRITER, kind="unlink"),
    Verb("suggest_links", of=(JOURNAL,)),
    Verb("accept_link", of=(JOURNAL,), role=WRITER, kind="link"),
    Verb("refuse_link", of=(JOURNAL,), role=WRITER, kind="refuse a link"),
    Verb("gates", of=(JOURNAL,)),
    Verb("switch_gate", of=(JOURNAL,), role=CURATOR, is_of_store=True),
    Verb("register_type", of=(JOURNAL,), role=CURATOR, is_of_store=True),
    Verb("rejected", of=(JOURNAL,)),
    Verb("accept", of=(JOURNAL,), role=WRITER, kind="accept"),
    Verb("plan_compact", of=(JOURNAL,), role=WRITER),  # it may ask a language model
    Verb("check_compact", of=(JOURNAL,)),
    Verb("apply_compact", of=(JOURNAL,), role=CURATOR, kind="compact"),
    Verb("compact", of=(JOURNAL,), role=CURATOR, kind="compact"),
    Verb("note_promotion", of=(JOURNAL,), role=WRITER),
    # All memories
    Verb("build_context", of=(SYSTEM,), tools=("recall",)),
    Verb("query_sync", of=(SYSTEM,)),
    Verb("store", of=(SYSTEM,), role=WRITER, kind="store", sent_as="store_once"),  # it may be sent again
    Verb("store_once", of=(SYSTEM,), role=WRITER, kind="store", tools=("store_attempt",)),
    Verb("judge", of=(SYSTEM,), role=WRITER, is_of_store=True),
    Verb("judgements", of=(SYSTEM,), is_of_store=True),
    Verb("memory_effect", of=(SYSTEM,), is_of_store=True),
    Verb("strictness", of=(SYSTEM,), commands=("level",)),
    Verb("plan_strictness", of=(SYSTEM,), commands=("level",), is_of_store=True),
    Verb("apply_strictness", of=(SYSTEM,), role=CURATOR, kind="strictness", commands=("level",), is_of_store=True),
    Verb("curation_loss", of=(SYSTEM,), is_of_store=True),
    Verb("compression_status", of=(SYSTEM,), is_of_store=True),
    Verb("plan_promotion", of=(SYSTEM,)),
    Verb("apply_promotion", of=(SYSTEM,), role=WRITER),
    Verb("plan_withdrawal", of=(SYSTEM,), commands=("withdraw",), is_of_store=True),
    Verb("apply_withdrawal", of=(SYSTEM,), role=CURATOR, kind="delete", commands=("withdraw",), is_of_store=True),
    Verb("scan", of=(SYSTEM,), commands=("scan",)),
    Verb("trust", of=(SYSTEM,)),
    Verb("quarantine", of=(SYSTEM,), role=CURATOR, kind="quarantine", commands=("quarantine",)),
    Verb("unquarantine", of=(SYSTEM,), role=CURATOR, kind="quarantine", commands=("quarantine",)),
    Verb("quarantined", of=(SYSTEM,), commands=("quarantine",)),
    Verb("history", of=(SYSTEM,), tools=("history",), commands=("history",)),
    Verb("count_operations", of=(SYSTEM,)),
    Verb("operation", of=(SYSTEM,)),
    Verb("changes", of=(SYSTEM,)),
    Verb("actors", of=(SYSTEM,), is_of_store=True),
    Verb("revision", of=(SYSTEM,)),
    Verb("undo", of=(SYSTEM,), role=WRITER, kind="undo", tools=("undo",), commands=("undo",)),
    Verb("plan_undo", of=(SYSTEM,), role=WRITER),
    Verb("apply_undo", of=(SYSTEM,), role=WRITER, kind="undo"),
)

NEEDS_FILES = frozenset(
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
    return tuple(verb for verb in VERBS if owner in verb.of)


ROLES: Mapping[str, Role] = {
    f"{'memory' if owner == SYSTEM else owner}.{verb.name}": verb.role for verb in VERBS for owner in verb.of
}
"""Lowest role of each verb, by qualified name such as `experience.delete`."""
