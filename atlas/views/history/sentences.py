"""Operations in sentences: `Deleted 9 experiences by a rule`, `Tagged 6 experiences “talk”`, `Undid the edit of …`."""

from __future__ import annotations

from collections import Counter

from atlas.core.errors import NotFound
from atlas.core.operations import UNDO, Operation, RecordChange, undone_operation_ids
from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.titles import task_title
from atlas.views.lists.word_diff import word_diff
from atlas.views.shared.kinds import kind_of
from atlas.views.shared.wording import counted, in_words, shortened

FEW = 3
"""Changes of several kinds up to which the first record is named."""

CHANGE_CHARACTERS = 160

VERBS = {
    "strictness": "Changed the strictness of searches",
    "store": "Stored {}",
    "import": "Imported {}",
    "edit": "Edited {}",
    "delete": "Deleted {}",
    "forget": "Deleted {}, by the one who stored them",
    "prune": "Deleted {} by a rule",
    "merge": "Merged {}",
    "refine": "Refined {}",
    "mark": "Marked {}",
    "quarantine": "Changed the quarantine of {}",
    "outcome": "Set the outcome of {}",
    "restore": "Restored {} from the trash",
    "purge": "Purged {} for good",
    "refuse": "Refused {}",
    "accept": "Accepted {}",
    "compress": "Added {} that programs have in common",
    "compose": "Composed {}",
    "promote": "Promoted {}",
    "link": "Linked {}",
    "unlink": "Removed a link of {}",
    "refuse a link": "Refused a link of {}",
    "compact": "Shortened {}",
}
"""Sentences of operations, by their kind. The records take the place of the braces."""

_NOUNS = {
    "store": "the storing of {}",
    "import": "the import of {}",
    "edit": "the edit of {}",
    "delete": "the deletion of {}",
    "forget": "the deletion of {}, which the one who had stored them deleted",
    "prune": "the deletion of {} by a rule",
    "merge": "the merge of {}",
    "outcome": "the outcome of {}",
    "restore": "the restoring of {} from the trash",
}
"""Names of operations that were undone, by their kind. The others are undone in the words of their sentences."""

_LEFT_OUT = ", which leaves out "
"""Words between the number of merged records and the number of those that are left out."""

_SWITCHES = {"pinned": ("Pinned {}", "Unpinned {}"), "buried": ("Retired {}", "Brought back {}")}
_OUTCOMES = {"true": "succeeded", "false": "failed", "": "unknown"}
"""Words for an outcome, as a change has it."""

_UNDOING = {
    "removed": ("brings back {}", "deletes {} again"),
    "added": ("deletes {}", "brings back {}"),
    "changed": ("puts {} back as before", "changes {} again"),
    "marked": ("restores the former marks of {}", "marks {} again"),
}
"""The effects of undoing and of redoing a change of records, by the kind of change."""

_UNDOING_SHORT = {
    "removed": ("bring back{}", "delete{}"),
    "added": ("delete{}", "bring back{}"),
    "changed": ("put back{}", "change{}"),
    "marked": ("put back{}", "mark{}"),
}
"""The same on a button."""

_UNDOING_MARKS = {
    "Pinned": ("unpin{}", "pin{}"),
    "Unpinned": ("pin{}", "unpin{}"),
    "Retired": ("bring back{}", "retire{}"),
    "Brought": ("retire{}", "bring back{}"),
    "Tagged": ("remove the tag{from}", "add the tag{to}"),
}
"""The same for a change of marks, by the first word of its sentence."""

_OWN_REASON_BEGINNINGS = {UNDO: "took back ", "outcome": "outcome "}
"""The beginnings of reasons that no person or program gave, by the kind of the operation."""


def sentence_of(
    memory: MemorySystem, operation: Operation, first_change: RecordChange | None, kind: Kind | None
) -> str:
    """Return a sentence on what an operation did. It may contain the title of a record, which is untrusted text.

    Args:
        first_change: Its first change, or None if it has none.
        kind: The only kind of its records, or None if it touched several.
    """
    if operation.kind == UNDO:
        return _sentence_of_undo(memory, operation)
    pattern = _mark_pattern(first_change) if operation.kind == "mark" else VERBS.get(operation.kind, "")
    records = _records_text(memory, operation, first_change, kind)
    return (pattern or f"{operation.kind.capitalize()}: {{}}").replace("{}", records, 1)


def undo_sentence(operation: Operation, kind: Kind | None) -> str:
    """Return `Undo brings back 12 experiences`, or `Redo deletes 12 experiences` of an operation that was undone.

    It is empty if the operation changed no record.

    Args:
        kind: The only kind of its records, or None if it touched several.
    """
    noun, is_undone = kind.noun if kind else "record", operation.undone_by is not None
    effects = [
        patterns[is_undone].format(counted(operation.counts[change], noun))
        for change, patterns in _UNDOING.items()
        if operation.counts.get(change)
    ]
    return f"{'Redo' if is_undone else 'Undo'} {in_words(effects)}" if effects else ""


def undo_label(operation: Operation, first_change: RecordChange | None) -> str:
    """Return `Undo: unpin`, or `Undo: bring back 12, put back 5`, the most frequent change first.

    Args:
        first_change: Its first change, or None if it has none.
    """
    is_undone = operation.undone_by is not None
    counts = {name: count for name, count in operation.counts.items() if count and name in _UNDOING_SHORT}
    verb = "Redo" if is_undone else "Undo"
    if not counts:
        return verb
    if len(counts) == 1 and (named := _named_effect(operation, first_change, *counts.values())):
        return f"{verb}: {named}"
    effects: Counter[str] = Counter()
    for name, count in counts.items():
        if name != "marked" or len(counts) == 1:  # marks matter less than what else happens to the records
            effects[_UNDOING_SHORT[name][is_undone]] += count
    return f"{verb}: {', '.join(effect.format(f' {count:,}') for effect, count in effects.most_common())}"


def undo_deletes_many(operation: Operation) -> bool:
    """Return whether undoing an operation, or doing it again, deletes more than `FEW` records."""
    return operation.counts.get("removed" if operation.undone_by is not None else "added", 0) > FEW


def _named_effect(operation: Operation, first_change: RecordChange | None, count: int) -> str:
    """Return `unpin`, `back to unknown` or `restore the old text`, or an empty string for most operations."""
    if first_change is None:
        return ""
    is_undone = operation.undone_by is not None
    if operation.kind == "mark":
        effects = _UNDOING_MARKS.get(_mark_pattern(first_change).split(" ", 1)[0], ("", ""))
        words = {"from": f" from {count:,}", "to": f" to {count:,}"} if count > 1 else {"from": "", "to": ""}
        return effects[is_undone].format(f" {count:,}" if count > 1 else "", **words)
    of_many = f" of {count:,}" if count > 1 else ""
    if operation.kind == "edit" and operation.counts.get("changed"):
        return f"restore the {'new' if is_undone else 'old'} text{of_many}"
    if operation.kind != "outcome":
        return ""
    # Records that got one outcome may have had different ones before.
    changes = [texts for name, *texts in first_change.fields if name == "outcome.success"]
    outcomes = [_OUTCOMES.get(texts[is_undone], "") for texts in changes]
    return f"back to {outcomes[0]}" if count == 1 and outcomes and outcomes[0] else f"restore the outcome{of_many}"


def reason_of(operation: Operation) -> str:
    """Return the reason that a person or program gave for an operation, or an empty string."""
    own_beginning = _OWN_REASON_BEGINNINGS.get(operation.kind)
    return "" if own_beginning and operation.reason.startswith(own_beginning) else operation.reason


def difference_of(operation: Operation, first_change: RecordChange | None) -> str:
    """Return the difference that an operation made, or an empty string.

    For an outcome, it is `unknown → succeeded`, or `now succeeded` if several records got it. For an edit of one field
    of one record, it is the words that differ, or the new text if most of them do. For all others, it is empty.
    """
    if operation.kind == "outcome" and first_change is not None:
        is_only = operation.counts == {"changed": 1}
        changes = [texts for name, *texts in first_change.fields if name == "outcome.success"]
        labelled = [[_OUTCOMES.get(text, text) for text in texts] for texts in changes]
        return "".join(f"{before} → {after}" if is_only else f"now {after}" for before, after in labelled)
    is_edit_of_record = operation.kind == "edit" and operation.counts == {"changed": 1}
    if first_change is None or not is_edit_of_record or len(first_change.fields) != 1:
        return ""
    ((name, before, after),) = first_change.fields
    appended = after.removeprefix(before) if before and after.startswith(before) else ""
    added = appended.strip() if appended[:1].isspace() or before[-1:].isspace() else ""
    difference = f"{name}: added “{added}”" if added else f"{name}: {word_diff(before, after)}"
    if len(difference) > CHANGE_CHARACTERS:  # a text that was written anew
        difference = f"{name}, now: {' '.join(after.split())}"
    return shortened(difference, CHANGE_CHARACTERS)


def _sentence_of_undo(memory: MemorySystem, operation: Operation) -> str:
    ids = undone_operation_ids(operation)
    if len(ids) != 1:
        return f"Undid {counted(len(ids), 'operation')}"
    try:
        undone = memory.operation(ids[0])
    except NotFound:
        return "Undid an operation"
    if undone.kind == UNDO:
        return _sentence_of_undo(memory, undone).replace("Undid", "Redid", 1)
    first_change = next(iter(memory.changes(undone.id, 1)), None)
    kind = only_kind(memory, undone)
    if undone.kind in _NOUNS:
        records = _records_text(memory, undone, first_change, kind).partition(_LEFT_OUT)[0]
        return f"Undid {_NOUNS[undone.kind].format(records)}"
    return f"Undid: {_with_small_initial(sentence_of(memory, undone, first_change, kind))}"


def only_kind(memory: MemorySystem, operation: Operation) -> Kind | None:
    """Return the kind of an operation's records, or None for several kinds."""
    kinds = {kind_of(memory, collection) for collection in memory.storage.collections_of(operation.id)}
    return kinds.pop() if len(kinds) == 1 else None


def _mark_pattern(first_change: RecordChange | None) -> str:
    """Return the pattern of the sentence on a change of marks, such as `Pinned {}`, or an empty string."""
    fields = {name: (before, after) for name, before, after in first_change.fields} if first_change else {}
    if len(fields) != 1:
        return ""
    ((name, (before, after)),) = fields.items()
    if name in _SWITCHES:
        return _SWITCHES[name][0 if after else 1]
    if name == "tags":
        added = [tag for tag in after.split(", ") if tag not in before.split(", ")]
        is_only_added = added and not set(before.split(", ")) - {"", *after.split(", ")}
        return f"Tagged {{}} “{', '.join(added)}”" if is_only_added else "Changed the tags of {}"
    return "Wrote a note on {}" if name == "note" and after else ""


def _records_text(
    memory: MemorySystem, operation: Operation, first_change: RecordChange | None, kind: Kind | None
) -> str:
    """Return the records of an operation in words: `18 experiences`, or `strategy “Retry once”` if there is only one.

    If there are a few of several kinds, the first is named: `experience “Retry once” and 1 strategy`.
    """
    noun = kind.noun if kind else "record"
    counts = operation.counts
    n_records = max(counts.values(), default=0)
    if operation.kind in ("merge", "refine"):
        n_removed = counts.get("removed", 0)
        return f"{counted(n_removed + counts.get('changed', 0), noun)}{_LEFT_OUT}{n_removed:,}"
    if kind is None and 1 < sum(counts.values()) <= FEW and first_change is not None and first_change.title:
        noun, *other_nouns = (kind_of(memory, change.collection).noun for change in memory.changes(operation.id, FEW))
        named = f"{noun} “{task_title(first_change.title).title}”"
        others = (counted(n_others, other_noun) for other_noun, n_others in Counter(other_nouns).items())
        return in_words([named, *others])
    if n_records == 1 and first_change is not None and first_change.kind != "purged":
        return f"{noun} “{task_title(first_change.title).title}”"
    return counted(n_records, noun)


def _with_small_initial(text: str) -> str:
    return text[:1].lower() + text[1:]
