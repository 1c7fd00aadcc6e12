"""Promotion of a journal entry: the proposed record, its source, and earlier promotions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.types import Experience, JournalEntry
from atlas.memory.journal.links import CRASH, REFLECTION
from atlas.memory.journal.neighbours import title_of
from atlas.memory.journal.records import PROMOTED_TO, promotions_of
from atlas.memory.promotion import Promotion
from atlas.memory.system import MemorySystem
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.journal import JOURNAL
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.lists.facts import Part, RecordLink
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.plans import Figure, PlanRow, PlanView
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted

OTHER_TYPE = "A crash that is linked to its fix, or a reflection, can be promoted; this is neither."
NO_FIX = "This crash has no link to what fixed it. You can add one under Links."
PROMOTED = "It was promoted already. Edit what it became, or delete that first."
NOWHERE = "This memory system has no memory that could hold it."


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteRequest:
    """A request to promote an entry to a lasting memory."""

    id: str

    def propose(self, memory: MemorySystem) -> PromoteProposal:
        """Return the record that the entry would become now.

        Raises:
            NotFound: It does not exist, or the memory that would store the result is missing.
            InvalidInput: It cannot be promoted.
        """
        promotion = memory.plan_promotion(self.id)
        n_before = _kind_of(promotion).records(memory).count()
        return PromoteProposal(promotion=promotion, view=_promotion_view(promotion, n_before))


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteProposal:
    """The preview of a promotion."""

    promotion: Promotion
    view: PlanView
    removed_ids: tuple[str, ...] = ()
    """Empty, because the entries are kept, with links to the new record."""

    @property
    def done_sentence(self) -> str:
        """`Promoted 2 entries to an experience`."""
        return f"Promoted {_entries_text(self.promotion)} to {_with_article(_kind_of(self.promotion))}"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The texts that would be written, each under our own name for it."""
        becomes = self.promotion.becomes
        if isinstance(becomes, Experience):
            texts = {"Task": becomes.task.description, "Solution": becomes.solution_output or ""}
        else:
            texts = {"When": becomes.situation, "What to do": becomes.suggestion, "Why": becomes.rationale}
        return tuple(Part(name, Text(text)) for name, text in texts.items() if text)

    def apply(self, memory: MemorySystem) -> str | None:
        """Write the promotion as one operation and return its id.

        Raises:
            PlanOutdated: An entry has changed since the plan was made. Nothing was applied.
        """
        return memory.apply_promotion(self.promotion)


def why_not_promoted(memory: MemorySystem, entry: JournalEntry) -> str:
    """Return why an entry cannot be promoted, as trusted text, or an empty string if it can."""
    try:
        memory.plan_promotion(entry.id)
    except NotFound:
        return NOWHERE
    except InvalidInput:
        types = memory.journal.types
        if entry.entry_type not in [*types.types_sharing_quota(CRASH), *types.types_sharing_quota(REFLECTION)]:
            return OTHER_TYPE
        fixes = [link.target_id for link in entry.links if link.type == "fixed_by"]
        is_unsolved = entry.entry_type in types.types_sharing_quota(CRASH) and not memory.journal.titles(fixes)
        return NO_FIX if is_unsolved else PROMOTED
    return ""


def promoted_records(memory: MemorySystem, entry: JournalEntry) -> tuple[RecordLink, ...]:
    """Return the existing memories that an entry was promoted to."""
    ids_by_noun: dict[str, list[str]] = {}
    for name in promotions_of(entry):
        noun, _, record_id = name.partition(":")
        ids_by_noun.setdefault(noun, []).append(record_id)
    promoted = list[RecordLink]()
    for kind in KINDS.values():
        titles = kind.records(memory).titles(ids_by_noun[kind.noun]) if kind.noun in ids_by_noun else {}
        promoted += [RecordLink(kind=kind, id=record_id, title=title) for record_id, title in titles.items()]
    return tuple(promoted)


def promotion_texts(memory: MemorySystem, promotions: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return `became a strategy` of entries that became a record that is still there, by the id of the entry.

    Args:
        promotions: Names of records such as `strategy:id`, by the id of the entry.
    """
    existing = dict[str, Kind]()
    for kind in (EXPERIENCE, STRATEGY):
        prefix = f"{kind.noun}:"
        ids = [name.removeprefix(prefix) for names in promotions.values() for name in names if name.startswith(prefix)]
        existing |= {f"{prefix}{record_id}": kind for record_id in kind.records(memory).titles(ids)}
    became = {
        entry_id: [existing[name] for name in names if name in existing] for entry_id, names in promotions.items()
    }
    return {entry_id: f"became {_with_article(kinds[0])}" for entry_id, kinds in became.items() if kinds}


def made_of(memory: MemorySystem, kind: Kind, record_id: str) -> tuple[RecordLink, ...]:
    """Return the journal's entries that became this memory."""
    ids = memory.journal.ids({f"meta.{PROMOTED_TO}": f"{kind.noun}:{record_id}"})
    return tuple(
        RecordLink(kind=JOURNAL, id=entry_id, title=title) for entry_id, title in memory.journal.titles(ids).items()
    )


def _kind_of(promotion: Promotion) -> Kind:
    return EXPERIENCE if isinstance(promotion.becomes, Experience) else STRATEGY


def _with_article(kind: Kind) -> str:
    return f"{'an' if kind is EXPERIENCE else 'a'} {kind.noun}"


def _entries_text(promotion: Promotion) -> str:
    return counted(len(promotion.entries), "entry")


def _promotion_view(promotion: Promotion, n_before: int) -> PlanView:
    """Return the view of a promotion.

    Args:
        n_before: Memories of the kind that it would become.
    """
    kind = _kind_of(promotion)
    is_experience = kind is EXPERIENCE
    if is_experience:
        subject = "A crash and its fix"
        note = "No attempt was run, so its outcome is unknown until tasks use it."
    else:
        subject = "A reflection"
        note = "It starts without uses. Attempts that use it count from then on."
    source_entry, *fixes = promotion.entries
    source_row = _plan_row(source_entry, "the crash" if is_experience else "the reflection")
    rows = [source_row, *(_plan_row(fix, "its fix") for fix in fixes)]
    task = [] if promotion.task is None else [_plan_row(promotion.task, "the task that it was about", goes=False)]
    return PlanView(
        title="Promote",
        headline=f"{subject} would become {_with_article(kind)}.",
        button=f"Promote to {_with_article(kind)}",
        notes=(note,),
        rows=(*rows, *task),
        subject=JOURNAL.noun.capitalize(),
        caption="What it is made from, which stays in the journal",
        figures=(Figure(kind.page.capitalize(), f"{n_before + 1:,}", f"{n_before:,}"),),
        n_going=len(rows),
    )


def _plan_row(entry: JournalEntry, reason: str, *, goes: bool = True) -> PlanRow:
    return PlanRow(id=entry.id, title=title_of(entry.content), goes=goes, why=reason)
