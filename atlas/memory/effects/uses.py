"""Detection of used records: received records whose id or text appears in the agent's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from atlas.core.types import Step, Task
from atlas.core.unseen import SHORT_ID, shown_id
from atlas.memory.base.memory import Memory
from atlas.memory.context.block import TokenCounter
from atlas.memory.experience.extraction import SHOWN_RECORDS, SHOWN_TOKENS, UNUSED_TOKENS
from atlas.memory.kinds.sections import known_sections
from atlas.memory.query import AnyMemory, Ids, Texts

N_WORDS = 16
"""Number of consecutive words that must reappear in an agent's words for a record to count as used.

False positives were measured with records of other tasks, which the agents had not seen: 10% of the attempts on
τ-bench, 1% on MBPP and 2% on HumanEval. With 12 words, they were 42, 4 and 4%.
"""

_UNSPACED_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Characters of languages without spaces between words, each of which counts as a word."""

_WORD = re.compile(rf"[{_UNSPACED_CHARACTERS}]|[^\W{_UNSPACED_CHARACTERS}]+")
_RECORD = re.compile(r"^\[\S+ (.+?)\] ?(.*(?:\n  .*)*)", re.MULTILINE)
"""A record in a context block: a heading with the id, and indented lines."""


def find_used_records(
    retrieved: Ids, texts: Texts, task: Task, steps: Sequence[Step], solution: object
) -> dict[str, tuple[str, ...]]:
    """Return the ids of the retrieved records that an agent used, keyed by memory.

    These are the records whose ids appear in the agent's words or, if there are none, the records whose texts do.
    Observations do not count as the agent's words, because the context block may be an observation.
    """
    words = "\n".join([*(f"{step.thought}\n{step.action}" for step in steps), str(solution or "")])
    ids_by_memory = {
        name: tuple(record_id for record_id in ids if _is_named(record_id, words)) for name, ids in retrieved.items()
    }
    if not any(ids_by_memory.values()):
        given_texts = [task.description, *map(str, task.context.values()), *_own_observations(retrieved, steps)]
        reappearing = _reappearing_records(texts, words, given_texts) | _called_concepts(texts, words, given_texts)
        ids_by_memory = {
            name: tuple(record_id for record_id in ids if (name, record_id) in reappearing)
            for name, ids in retrieved.items()
        }
    return {name: ids for name, ids in ids_by_memory.items() if ids}


def block_texts(block: str, retrieved: Ids) -> dict[tuple[str, str], str]:
    """Return the text of each record in a context block, without the id in its heading, keyed by memory and id."""
    names = {shown_id(record_id): (name, record_id) for name, ids in retrieved.items() for record_id in ids}
    return {names[match[1]]: match[2] for match in _RECORD.finditer(block) if match[1] in names}


def read_record_texts(memories: Mapping[str, AnyMemory], retrieved: Ids) -> dict[tuple[str, str], str]:
    """Return the texts of records as in a context block, keyed by memory and id. Plugged-in memories are left out."""
    sections, texts = known_sections(), dict[tuple[str, str], str]()
    for name, ids in retrieved.items():
        memory = memories.get(name)
        if isinstance(memory, Memory) and name in sections:
            for record in memory.get_many(ids):
                lines = sections[name].text(record).lines
                texts[name, record.id] = "\n".join(lines).partition("] ")[2]
    return texts


def context_metadata(retrieved: Ids, texts: Texts, used: Ids, counter: TokenCounter | None) -> dict[str, int]:
    """Return metadata for an attempt: the number of shown records, and their tokens in the context block.

    Args:
        counter: Counter of the tokens of a block's records, or None if there is no block.
    """
    metadata = {SHOWN_RECORDS: sum(map(len, retrieved.values()))}
    if counter is None:
        return metadata
    n_tokens = {record: counter.count(text) for record, text in texts.items()}
    n_used = sum(count for (name, record_id), count in n_tokens.items() if record_id in used.get(name, ()))
    n_shown = sum(n_tokens.values())
    return {**metadata, SHOWN_TOKENS: n_shown, UNUSED_TOKENS: n_shown - n_used}


def _is_named(record_id: str, words: str) -> bool:
    """Return whether an agent's words contain a record's id as a context block shows it.

    An id without a digit, or shorter than most ids, does not count, because it may be an ordinary word.
    """
    if not isinstance(record_id, str):
        return False
    short_id = shown_id(record_id)
    is_distinctive = len(short_id) >= SHORT_ID and any(map(str.isdigit, short_id))
    word_end = r"(?![\w-])" if short_id == record_id else ""  # a shortened id may be followed by its rest
    return is_distinctive and re.search(rf"(?<!\w){re.escape(short_id.removesuffix('…'))}{word_end}", words) is not None


def _reappearing_records(texts: Texts, words: str, given_texts: Sequence[str]) -> set[tuple[str, str]]:
    """Return the records with an n-gram that appears in an agent's words. Each counts for one record only.

    Args:
        given_texts: Other texts that the agent received. N-grams in these are ignored.
    """
    unmatched_ngrams = set(_word_ngrams(words)).difference(*map(_word_ngrams, given_texts))
    records = set()
    for record, text in texts.items():
        if shared_ngrams := unmatched_ngrams.intersection(_word_ngrams(text)):
            records.add(record)
            unmatched_ngrams -= shared_ngrams
    return records


def _called_concepts(texts: Texts, words: str, given_texts: Sequence[str]) -> set[tuple[str, str]]:
    """Return the concepts whose functions the agent calls, unless other texts that it received name them too."""
    called_concepts = set[tuple[str, str]]()
    for record, text in texts.items():
        name = text.strip().partition("\n")[0]
        is_distinctive = len(name) >= SHORT_ID or "_" in name
        if record[0] != "concepts" or not is_distinctive or any(name in given_text for given_text in given_texts):
            continue
        if re.search(rf"(?<!def )\b{re.escape(name)}\s*\(", words):
            called_concepts.add(record)
    return called_concepts


def _word_ngrams(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each run of `N_WORDS` consecutive words of a text, in lower case."""
    words = [word.lower() for word in _WORD.findall(text)]
    return zip(*(words[start:] for start in range(N_WORDS)), strict=False)


def _own_observations(retrieved: Ids, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the observations that contain no id of a retrieved record, which leaves out the context block."""
    short_ids = [shown_id(record_id) for ids in retrieved.values() for record_id in ids if isinstance(record_id, str)]
    return (step.observation for step in steps if not any(record_id in step.observation for record_id in short_ids))
