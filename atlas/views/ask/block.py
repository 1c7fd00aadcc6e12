"""The context block in pieces, with the positions of shown records and the reasons for others."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.memory.context.block import END, ContextBlock
from atlas.memory.kinds.sections import known_sections

Key = tuple[str, str]
"""Memory and id of a record."""

AS_WARNING = "as a warning"
"""The form of a record that the block warns of."""

UNWRITTEN = "it cannot be written"
"""The reason for a record that the block names in its errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPiece:
    """Consecutive lines of a block: a record, or the text between records."""

    text: str
    """Text of the lines. Untrusted for a record."""

    memory: str = ""
    """Memory of the record. Empty between records, like the id."""

    id: str = ""
    place: int = 0
    """Position in the block, from 1. 0 between records."""


def pieces_of(block: ContextBlock) -> tuple[BlockPiece, ...]:
    """Return the pieces of a block in their order. Their texts, joined by line breaks, are the block.

    No stored text can begin a line with a bracket or imitate a heading, so the lines identify records.
    """
    memories = {section.heading: name for name, section in known_sections().items()}
    remaining_ids = {name: list(ids) for name, ids in block.shown.items()}
    pieces: list[tuple[Key, list[str]]] = []
    memory = last_id = ""
    for line in block.text.splitlines():
        is_frame = line in memories or line in ("", END)
        if line in memories:
            memory = memories[line]
        if memory and line.startswith("["):
            last_id = remaining_ids[memory].pop(0)
            pieces.append(((memory, last_id), [line]))
        elif pieces and (not is_frame or not last_id):
            _, lines = pieces[-1]
            lines.append(line)
        else:
            last_id = ""
            pieces.append((("", ""), [line]))
    return _numbered(pieces)


def places_of(block: ContextBlock) -> dict[Key, int]:
    """Return the place of each record in a block, from 1."""
    return {(piece.memory, piece.id): piece.place for piece in pieces_of(block) if piece.place}


def forms_of(block: ContextBlock) -> dict[Key, str]:
    """Return the forms of records that a block does not show in full: `shortened` or `as a warning`."""
    forms = {(name, record_id): "shortened" for name, ids in block.shortened.items() for record_id in ids}
    return forms | {(name, record_id): AS_WARNING for name, ids in block.warnings.items() for record_id in ids}


def reasons_of(block: ContextBlock) -> dict[Key, str]:
    """Return why hits are not in a block: `too long by 40 tokens`, or `repeats hit 2`."""
    places = places_of(block)
    reasons = dict[Key, str]()
    for omission in block.omitted:
        repeated_place = places.get((omission.memory, omission.repeats))
        if omission.id:
            reasons[omission.memory, omission.id] = (
                f"repeats hit {repeated_place}" if repeated_place else omission.sentence
            )
    return reasons


def _numbered(pieces: list[tuple[Key, list[str]]]) -> tuple[BlockPiece, ...]:
    numbered, place = list[BlockPiece](), 0
    for (memory, record_id), lines in pieces:
        place += bool(record_id)
        piece_place = place if record_id else 0
        numbered.append(BlockPiece(text="\n".join(lines), memory=memory, id=record_id, place=piece_place))
    return tuple(numbered)
