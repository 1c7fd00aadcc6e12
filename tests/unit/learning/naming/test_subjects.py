"""Words of tasks are used only if nearly all tasks of a function have them, and few others."""

from __future__ import annotations

import asyncio

from atlas.learning.naming.documenter import HeuristicDocumenter
from atlas.learning.naming.subjects import MIN_OTHER_TASKS, distinctive_words
from tests.support.learning.builders import concept

OWN = ["Decode a Huffman text.", "Encode with Huffman codes.", "Build the Huffman tree of a text."]
OTHERS = [f"Sort the text of row {'x' * n}." for n in range(1, MIN_OTHER_TASKS + 1)]
ODD = "def concept_7(x0, x1): return x0[x1] + foreign(x1, x0 + 17)"


def document(tasks, own=OWN, **options):
    uses = [(task, f"def f{n}(a, b): return concept_7(a, b)") for n, task in enumerate(own)]
    return asyncio.run(HeuristicDocumenter(tasks=tasks, **options).document(concept(ODD), uses))


def test_a_word_of_all_its_tasks_and_no_others_tells_them():
    assert distinctive_words(OWN, [*OWN, *OTHERS]) == ["huffman"]


def test_a_word_that_others_have_tells_nothing():
    assert distinctive_words(OWN, [*OWN, *OTHERS, "A Huffman code.", "Huffman again."]) == []


def test_a_word_that_one_of_its_tasks_has_not_tells_nothing():
    assert distinctive_words([*OWN, "Turn a number round."], [*OWN, *OTHERS]) == []


def test_few_tasks_tell_nothing():
    assert distinctive_words(OWN[:2], [*OWN, *OTHERS]) == []
    assert distinctive_words(OWN, [*OWN, *OTHERS[1:]]) == []


def test_examples_in_a_task_are_no_words_of_it():
    own = [f"{task}\n\ndef decode_zebra(text)" for task in OWN]
    assert distinctive_words(own, [*own, *OTHERS]) == ["huffman"]


def test_a_word_of_its_tasks_is_in_the_guidance_and_in_no_name():
    found = document([*OWN, *OTHERS])
    assert found.name == "concept_7"
    assert found.guidance.startswith("For tasks about huffman. Used for: “Decode a Huffman text.”")


def test_without_other_tasks_no_word_of_its_own_is_used():
    found = document(())
    assert "huffman" not in found.description.lower()
    assert found.guidance.startswith("Used for: “Decode a Huffman text.”")


def test_the_number_is_a_free_one():
    assert document((), reserved=["concept_7", "concept_1"]).name == "concept_2"
