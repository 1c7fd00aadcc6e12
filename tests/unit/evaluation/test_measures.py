"""Asking retrievers judged queries, and what a report says of their answers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from atlas.core.errors import InvalidInput
from atlas.evaluation.baselines import PlainBM25
from atlas.evaluation.measures import Ranking, evaluate
from atlas.evaluation.metrics import METRICS
from atlas.evaluation.report import Report, as_json, as_markdown, as_text
from atlas.evaluation.split import is_in_test_half
from tests.support.retrievers import ScriptedRetriever, query, task

TEXTS = {"a": "apple", "b": "banana", "c": "cherry", "d": "date"}
LETTERS = task(query("A", "a"), query("B", "b"), query("C", "c"), query("D", "d"))
GOOD = ScriptedRetriever("good", {"A": "ab", "B": "bc", "C": "cd", "D": "da"})
POOR = ScriptedRetriever("poor", {"A": "ab", "B": "ab", "C": "ab", "D": "ab"})


def measured(*retrievers, of=LETTERS, half="both", **options):
    return evaluate(of, TEXTS, retrievers, half=half, seed=0, **options)


def report(result, **changes):
    rows = {row.name: "as scripted" for row in result.rows}
    return Report(model="none", half="both", seed=0, retrievers=rows, tasks=(result,), **changes)


def means(row):
    return {name: estimate.mean for name, estimate in row.estimates.items()}


def test_each_row_has_the_mean_of_each_metric_over_the_queries():
    good, poor = measured(GOOD, POOR).rows
    assert means(good) == dict.fromkeys(METRICS, 1.0) | {"found nothing": 0.0}
    assert means(poor)["hit@1"] == 0.25
    assert means(poor)["hit@5"] == 0.5
    assert means(poor)["MRR@10"] == pytest.approx((1 + 1 / 2) / 4)


def test_chance_is_that_of_a_random_order():
    result = measured(GOOD)
    assert result.chance["hit@1"] == pytest.approx(1 / 4)
    assert result.chance["MRR@10"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


def test_what_is_left_out_is_neither_relevant_nor_counted_among_the_records():
    left_out = task(query("A", "a", "b", excluded="a"))
    result = measured(ScriptedRetriever("all", {"A": "abcd"}), of=left_out)
    assert result.chance["hit@1"] == pytest.approx(1 / 3)
    assert means(result.rows[0])["recall@10"] == 1


def test_a_row_is_compared_with_those_that_it_names():
    poor, good = measured(POOR, replace(GOOD, baselines=("poor", "absent"))).rows
    assert poor.differences == {}
    assert set(good.differences) == {"poor"}
    assert good.differences["poor"]["hit@1"].mean == pytest.approx(0.75)


def test_a_difference_is_paired_so_that_what_both_share_adds_no_doubt():
    texts = {str(n): str(n) for n in range(40)}
    asked = task(*(query(f"q{n}", str(n)) for n in range(40)))
    half_right = {f"q{n}": [str(n)] for n in range(20)}
    one = ScriptedRetriever("one", half_right)
    same = ScriptedRetriever("same", half_right, baselines=("one",))
    _, row = evaluate(asked, texts, [one, same], half="both", seed=0).rows
    assert row.estimates["hit@1"].interval.high - row.estimates["hit@1"].interval.low > 0.2
    assert row.differences["one"]["hit@1"].interval.low == row.differences["one"]["hit@1"].interval.high == 0


def test_a_query_to_which_nothing_stored_is_relevant_is_counted_and_left_out():
    asked = task(query("A", "a"), query("Z", "zebra"), query("B", b=1), query("C", "c", excluded="c"))
    result = measured(GOOD, of=asked)
    assert (result.n_queries, result.n_unanswerable, result.n_groups) == (1, 3, 1)
    assert means(result.rows[0])["hit@1"] == 1
    assert "3 more queries, to which nothing stored is relevant, are left out" in as_text(report(result))


def test_each_half_has_its_own_queries_and_both_have_all():
    groups = {half: [measured(GOOD, half=half).n_queries] for half in ("dev", "test", "both")}
    n_test = sum(is_in_test_half(letter) for letter in "ABCD")
    assert groups == {"dev": [4 - n_test], "test": [n_test], "both": [4]}


def test_a_half_without_queries_has_no_rows_and_says_so():
    letter = next(letter for letter in "ABCD" if is_in_test_half(letter))
    result = measured(GOOD, of=task(query(letter, "a")), half="dev")
    assert (result.n_queries, result.rows) == (0, ())
    assert "no query to ask" in as_text(report(result))
    assert "no query to ask" in as_markdown(report(result))


def test_words_that_a_query_shares_with_what_is_right_are_told():
    texts = {"a": "cancel my flight", "b": "a grid"}
    asked = task(query("Cancel  my flight", "a"), query("please cancel it, now", "a", "b"))
    result = evaluate(asked, texts, [GOOD], half="both", seed=0)
    assert result.word_overlap == pytest.approx((1 + 1 / 4) / 2)
    exact = task(query("cancel  my\nflight", "a"), query("a grid", "a"))
    assert evaluate(exact, texts, [GOOD], half="both", seed=0).share_verbatim == 0.5


def test_who_is_told_nothing_is_counted():
    shy = ScriptedRetriever("shy", {"B": "bc", "C": "cd", "D": "da"}, baselines=("good",))
    good, told = measured(GOOD, shy).rows
    assert means(good)["found nothing"] == 0
    assert (means(told)["found nothing"], told.differences["good"]["found nothing"].mean) == (0.25, 0.25)
    [line] = [line for line in as_text(report(measured(shy))).splitlines() if line.startswith("  shy")]
    assert line.split()[-1] == ".250"


class Careless:
    """Ranks as no retriever should."""

    name, about, baselines = "careless", "", ()

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def rank(self, text, excluded, depth):
        return Ranking(self.ids)


@pytest.mark.parametrize(("ids", "expected"), [(("a", "b", "a"), "each id once"), (("d",), "no excluded ids")])
def test_a_record_ranked_twice_or_though_left_out_is_refused(ids, expected):
    with pytest.raises(InvalidInput, match=f"expected {expected} from 'careless'"):
        measured(Careless(*ids), of=task(query("A", "a", excluded="d")))


def test_progress_goes_over_every_question_of_every_retriever():
    told = []
    measured(GOOD, POOR, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 8) for n in range(1, 9)]


def test_the_text_tells_rows_differences_and_chance():
    lines = as_text(report(measured(POOR, replace(GOOD, baselines=("poor",))))).splitlines()
    assert any(line.split()[:3] == ["chance", ".250", "1.000"] for line in lines)
    assert any(line.split()[:3] == ["poor", ".250", ".500"] for line in lines)
    assert any(line.split()[:4] == ["…", "−", "poor", "+.750"] for line in lines)
    assert "letters: 4 queries about 4 tasks" in lines


def test_every_line_of_a_markdown_table_has_as_many_cells_as_its_heading():
    good = replace(GOOD, baselines=("poor",))
    lines = [line for line in as_markdown(report(measured(POOR, good))).splitlines() if line.startswith("|")]
    assert len(lines) == 6
    assert {line.count("|") for line in lines} == {len(METRICS) + 2}


def test_the_json_holds_all_figures():
    held = json.loads(as_json(report(measured(POOR, replace(GOOD, baselines=("poor",))))))
    assert held["split_seed"] == 4
    [result] = held["tasks"]
    assert result["rows"][1]["differences"]["poor"]["hit@1"] == {"mean": 0.75, "interval": None}
    assert result["chance"]["hit@1"] == 0.25


def test_plain_bm25_prefers_rare_words_and_short_texts():
    texts = {"long": "flight " + "and more " * 40, "short": "flight", "rare": "refund", "other": "a grid"}
    bm25 = PlainBM25(texts)
    assert bm25.rank("flight", (), 10).ids == ("short", "long")
    assert bm25.rank("Flight? REFUND!", (), 10).ids[0] == "rare"
    assert bm25.rank("flight", {"short"}, 10).ids == ("long",)
    assert bm25.rank("nothing of it", (), 10).ids == ()
    assert PlainBM25({}).rank("flight", (), 10).ids == ()


def test_plain_bm25_is_worked_out_by_hand():
    """Two texts of three words on average 3 long; `x` is in one, twice: idf ln(1 + 1.5 / 1.5), weight 2 · 2.2 / 3.2."""
    bm25 = PlainBM25({"one": "x x y", "two": "y z z"})
    assert bm25._scores("x").tolist() == pytest.approx([0.693147 * 4.4 / 3.2, 0])
