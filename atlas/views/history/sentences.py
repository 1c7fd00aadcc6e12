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

_OWN_REASONS = {UNDO: "took back ", "outcome": "outcome "}
"""How the reason begins that an operation gets by itself, by its kind."""


def sentence_of(memory: MemorySystem, operation: Operation, first: RecordChange | None, kind: Kind | None) -> str:
    """Return what an operation did. It may contain the title of a record, which is untrusted text.

    Args:
        first: Its first change, or None if it has none.
        kind: The only kind of its records, or None if it touched several.
    """
    if operation.kind == UNDO:
        return _undo_sentence(memory, operation)
    pattern = _marking(first) if operation.kind == "mark" else VERBS.get(operation.kind, "")
    return (pattern or f"{operation.kind.capitalize()}: {{}}").replace("{}", _object(memory, operation, first, kind), 1)


def undo_sentence(operation: Operation, kind: Kind | None) -> str:
    """Return `Undo brings back 12 experiences`, or what Redo does to an operation that was undone, or an empty string.

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


def undo_label(operation: Operation, first: RecordChange | None) -> str:
    """Return `Undo: unpin`, or `Undo: bring back 12, put back 5`, the most frequent change first.

    Args:
        first: Its first change, or None if it has none.
    """
    is_undone = operation.undone_by is not None
    counts = {name: n for name, n in operation.counts.items() if n and name in _UNDOING_SHORT}
    verb = "Redo" if is_undone else "Undo"
    if not counts:
        return verb
    if len(counts) == 1 and (named := _named_effect(operation, first, *counts.values())):
        return f"{verb}: {named}"
    effects: Counter[str] = Counter()
    for name, n in counts.items():
        if name != "marked" or len(counts) == 1:  # marks matter less than what else happens to the records
            effects[_UNDOING_SHORT[name][is_undone]] += n
    return f"{verb}: {', '.join(effect.format(f' {n:,}') for effect, n in effects.most_common())}"


def undo_deletes_many(operation: Operation) -> bool:
    """Return whether undoing an operation, or doing it again, deletes more than `FEW` records."""
    return operation.counts.get("removed" if operation.undone_by is not None else "added", 0) > FEW


def _named_effect(operation: Operation, first: RecordChange | None, n: int) -> str:
    """Return `unpin`, `back to unknown` or `restore the old text`, or an empty string for most operations."""
    if first is None:
        return ""
    is_undone = operation.undone_by is not None
    if operation.kind == "mark":
        effects = _UNDOING_MARKS.get(_marking(first).split(" ", 1)[0], ("", ""))
        words = {"from": f" from {n:,}", "to": f" to {n:,}"} if n > 1 else {"from": "", "to": ""}
        return effects[is_undone].format(f" {n:,}" if n > 1 else "", **words)
    of_many = f" of {n:,}" if n > 1 else ""
    if operation.kind == "edit" and operation.counts.get("changed"):
        return f"restore the {'new' if is_undone else 'old'} text{of_many}"
    if operation.kind != "outcome":
        return ""
    # Records that got one outcome may have had different ones before.
    outcomes = [_OUTCOMES.get(texts[is_undone], "") for name, *texts in first.fields if name == "outcome.success"]
    return f"back to {outcomes[0]}" if n == 1 and outcomes and outcomes[0] else f"restore the outcome{of_many}"


def reason_of(operation: Operation) -> str:
    """Return the reason that a person or program gave, or an empty string."""
    own = _OWN_REASONS.get(operation.kind)
    return "" if own and operation.reason.startswith(own) else operation.reason


def change_of(operation: Operation, first: RecordChange | None) -> str:
    """Return how an operation changed its record: `unknown → succeeded`, or of an edit of one field what differs.

    It is the new text if most words differ, `now succeeded` for the outcome of several, and empty for other operations.
    """
    if operation.kind == "outcome" and first is not None:
        is_only = operation.counts == {"changed": 1}
        changes = [texts for name, *texts in first.fields if name == "outcome.success"]
        labelled = [[_OUTCOMES.get(text, text) for text in texts] for texts in changes]
        return "".join(f"{before} → {after}" if is_only else f"now {after}" for before, after in labelled)
    if first is None or operation.kind != "edit" or operation.counts != {"changed": 1} or len(first.fields) != 1:
        return ""
    ((name, before, after),) = first.fields
    rest = after.removeprefix(before) if before and after.startswith(before) else ""
    added = rest.strip() if rest[:1].isspace() or before[-1:].isspace() else ""
    difference = f"{name}: added “{added}”" if added else f"{name}: {word_diff(before, after)}"
    if len(difference) > CHANGE_CHARACTERS:  # a text that was written anew
        difference = f"{name}, now: {' '.join(after.split())}"
    return shortened(difference, CHANGE_CHARACTERS)


def _undo_sentence(memory: MemorySystem, operation: Operation) -> str:
    ids = undone_operation_ids(operation)
    if len(ids) != 1:
        return f"Undid {counted(len(ids), 'operation')}"
    try:
        undone = memory.operation(ids[0])
    except NotFound:
        return "Undid an operation"
    if undone.kind == UNDO:
        return _undo_sentence(memory, undone).replace("Undid", "Redid", 1)
    first = next(iter(memory.changes(undone.id, 1)), None)
    kind = only_kind(memory, undone)
    if undone.kind in _NOUNS:
        what = _object(memory, undone, first, kind).partition(_LEFT_OUT)[0]
        return f"Undid {_NOUNS[undone.kind].format(what)}"
    return f"Undid: {_lowered(sentence_of(memory, undone, first, kind))}"


def only_kind(memory: MemorySystem, operation: Operation) -> Kind | None:
    """Return the kind of an operation's records, or None for several kinds."""
    kinds = {kind_of(memory, collection) for collection in memory.storage.collections_of(operation.id)}
    return kinds.pop() if len(kinds) == 1 else None


def _marking(first: RecordChange | None) -> str:
    """Return the pattern of a change of marks, by what it did to the first record."""
    fields = {name: (before, after) for name, before, after in first.fields} if first else {}
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


def _object(memory: MemorySystem, operation: Operation, first: RecordChange | None, kind: Kind | None) -> str:
    """Return `18 experiences` or `strategy “Retry once”`, and of several kinds `9 records` or the first and the rest.

    The rest is counted by kind: `experience “Retry once” and 1 strategy`.
    """
    noun = kind.noun if kind else "record"
    counts = operation.counts
    n = max(counts.values(), default=0)
    if operation.kind in ("merge", "refine"):
        n_removed = counts.get("removed", 0)
        return f"{counted(n_removed + counts.get('changed', 0), noun)}{_LEFT_OUT}{n_removed:,}"
    if kind is None and 1 < sum(counts.values()) <= FEW and first is not None and first.title:
        noun, *others = (kind_of(memory, change.collection).noun for change in memory.changes(operation.id, FEW))
        named = f"{noun} “{task_title(first.title).title}”"
        return in_words([named, *(counted(number, other) for other, number in Counter(others).items())])
    if n == 1 and first is not None and first.kind != "purged":
        return f"{noun} “{task_title(first.title).title}”"
    return counted(n, noun)


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
