"""Queries about what a store does not hold: which they are, and how many are told something all the same."""

from __future__ import annotations

from atlas.evaluation.foreign import (
    BUNDLED_QUERIES,
    MAX_FOREIGN,
    NONSENSE,
    TOGETHER,
    ask_foreign,
    load_foreign_queries,
    select_foreign_queries,
)
from atlas.evaluation.measures import JudgedCorpus
from atlas.evaluation.report import Report, as_json, as_markdown, as_text, from_json
from atlas.evaluation.split import is_in_test_half, sample
from tests.support.retrievers import ScriptedRetriever, query, task

SHY = ScriptedRetriever("shy", {"oven": ["a"], "knife": ["b"], "qqq": ["a"]}, has_threshold=True)


def corpus(name, *texts, nonsense=()):
    return JudgedCorpus(name=name, trajectories=(), tasks=(task(*map(query, texts)),), nonsense=nonsense)


def asked(**by_source):
    return {source: {text: text for text in texts} for source, texts in by_source.items()}


def test_what_is_foreign_is_a_corpus_own_nonsense_and_what_others_are_asked():
    flights, kitchen = corpus("flights", "cancel", nonsense=("qqq",)), corpus("kitchen", "oven", nonsense=("zzz",))
    assert select_foreign_queries(flights, [flights, kitchen], "both") == {
        NONSENSE: {"qqq": "qqq"},
        "kitchen": {"oven": "oven"},
    }


def test_corpora_that_share_a_query_are_not_foreign_to_each_other():
    log, crashes, kitchen = (
        corpus("log", "it crashed", "more"),
        corpus("crashes", "it crashed"),
        corpus("kitchen", "oven"),
    )
    every = [log, crashes, kitchen]
    assert select_foreign_queries(log, every, "both") == {NONSENSE: {}, "kitchen": {"oven": "oven"}}
    assert select_foreign_queries(kitchen, every, "both") == {
        NONSENSE: {},
        "log": {"it crashed": "it crashed", "more": "more"},
        "crashes": {},
    }


def test_each_half_has_its_own_foreign_queries():
    flights, kitchen = corpus("flights", "cancel"), corpus("kitchen", *map(str, range(40)))
    halves = {half: {*select_foreign_queries(flights, [kitchen], half)["kitchen"]} for half in ("dev", "test", "both")}
    assert halves["test"] == {text for text in halves["both"] if is_in_test_half(text)}
    assert halves["dev"] == halves["both"] - halves["test"]
    assert {*load_foreign_queries("dev")[BUNDLED_QUERIES]}.isdisjoint(load_foreign_queries("test")[BUNDLED_QUERIES])


def test_the_share_told_something_is_by_source_and_of_all():
    bold = ScriptedRetriever("bold", {})
    results = ask_foreign(
        "flights", asked(kitchen=["oven", "knife", "fork", "pan"], nonsense=["qqq"]), [bold, SHY], seed=0
    )
    assert {each.source: (each.n_queries, each.told_something["shy"].mean) for each in results} == {
        "kitchen": (4, 0.5),
        "nonsense": (1, 1),
        TOGETHER: (5, 0.6),
    }
    assert {name for each in results for name in each.told_something} == {"shy"}


def test_there_is_no_result_without_foreign_queries_or_without_a_row_that_hides_anything():
    assert ask_foreign("flights", asked(nonsense=[]), [SHY], seed=0) == ()
    assert ask_foreign("flights", asked(kitchen=["oven"]), [ScriptedRetriever("bold", {})], seed=0) == ()


def test_of_many_queries_the_same_are_drawn_each_time():
    many, told = asked(kitchen=[str(n) for n in range(900)]), []
    shares = [
        ask_foreign("flights", many, [SHY], seed=seed, on_progress=lambda done, total: told.append((done, total)))
        for seed in (0, 1)
    ]
    assert [each.n_queries for results in shares for each in results] == [MAX_FOREIGN] * 2
    assert told[-1] == (MAX_FOREIGN, MAX_FOREIGN)


def test_a_draw_keeps_the_order_and_takes_all_of_few():
    assert sample("abc", 3, seed=0) == ["a", "b", "c"]
    some = sample(range(100), 10, seed=0)
    assert (len(some), some) == (10, sorted(some))


def test_reports_tell_where_it_was_asked_whose_queries_and_how_many_were_told_something():
    foreign = ask_foreign("flights", asked(kitchen=["oven", "fork", "pan", "pot"]), [SHY], seed=0)
    report = Report(model="none", half="both", seed=0, retrievers={}, tasks=(), foreign=foreign)
    assert "| flights | kitchen | 4 | .250 |" in as_markdown(report)
    assert [line.split() for line in as_text(report).splitlines() if "flights" in line] == [
        ["flights", "kitchen", "4", ".250"]
    ]
    assert from_json(as_json(report)) == report
