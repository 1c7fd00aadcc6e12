"""The numbers that decide which hits a search finds, in which order, and which of them it shows.

They stand in the order in which a score comes about: words, word pieces, scale, relevance, nudges, order, what is
shown. `atlas.memory.base.scoring` adds them up. Each group names the data behind its numbers. To choose one again,
change it here and compare the rows of this command before and after:

    atlas evaluate PATH... --half dev

The paths are the runs of the given data that docs/explanation/benchmarks.md lists. `dev` is the half of the tasks that
numbers may be chosen on. Report figures of `--half test`. Numbers that a group declares as set by hand were not chosen
on data: their reason stands beside them. The weights of the signals are settings of a store, with their own defaults in
`atlas.core.settings.RankingWeights`. Those were chosen in the same way.
"""

from __future__ import annotations

# --- Words: BM25. K1 and B are what FTS5 uses, as both engines have to rank alike. The rest was set by hand, and bounds
# the time of a query in a large collection.

K1, B = 1.2, 0.75
"""How soon repeating a word stops counting, and how much a long text is held against it."""

FIELD_WEIGHTS = 1.0, 0.5
"""How often a word counts for each time that the document, and the search text, hold it."""

FUNCTION_WEIGHT = 0.5
"""Share of its weight that a function word keeps, and a pair of them.

A third of the words of a question are function words. In a small store they are rare by chance. Taken
out altogether, they cost where a text is nearly the query's own."""

FUNCTION_WEIGHT_OF_SMALL = 0.01
"""The same in a collection of fewer than `SMALL` records: almost 0, so that the share of common words shows
by itself whether a record is related to a query."""

SMALL = 20
"""Records below which a collection is too small to measure how rare a word is, or what is foreign to it. What is
foreign is measured in other languages than English all the same: without, a small store in Chinese shows something to
19 foreign queries of 20, and with it to one in three."""

FEW_RECORDS = 10
"""Records from which on a word of the query that no record contains counts as the rarest. In a smaller collection it
counts as little as a word of one record."""

MAX_SEARCHED = 48
"""Of more terms that are held, the rarest are searched for. Further ones do not improve the result, and take longer."""

MAX_POSTINGS = 40_000
"""Terms are searched for, rarest first, until records hold them this often. In collections of a few
thousand records all terms are, and in large ones all but the commonest, which matter least."""

COMMON = 10_000
MIN_TERMS = 3
"""A term that more records hold, or half of them, is left out, unless that leaves fewer terms than this. FTS5 gives
what half of the records hold no weight. A pair is not looked for at all if more than `COMMON` hold one of its words:
to find it, all occurrences of both would have to be read."""

CONTEXT_SHARES = 0.2, 0.2
"""In a log or a conversation, how much the words of the next record count for one, and those of the one after. Chosen
on the development half of given conversations and logs."""

# --- Word pieces: late interaction. Chosen on the development half. Packed vectors are stored, so a change of `BITS` or
# `MOST_PIECES` also needs `atlas reembed`.

BITS = 192
"""Bits that are kept of a word piece's vector: 128 lose a third of the gain, and all of MiniLM's 384 dimensions as they
are bring no more."""

SHARE = 0.7
"""Share of the pooled vectors' cosine that gives way to late interaction in a text that is far longer than the query.

In one of the query's length, none does: there the pooled vectors are better. With a half for texts of any length, of
the nine sets of the development half three were worse by more than chance."""

MAX_PIECES = 512
"""Different word pieces of a text that are kept. It bounds what a search reads of long texts.

Of more, those with the highest numbers are kept: vocabularies are in the order of how common a piece is, and the rare
ones matter most."""

COMPARED = 60
"""Most relevant candidates whose word pieces are compared with the query's: the fewest of 60, 40, 30 and 20 with which
the development half has the same hits as with 100."""

# --- Scale: which similarity is near. Set by hand, to bound what is measured on each store.

SAMPLED = 64
"""Records that are compared with all others: enough for a median, and some 0.3 s at 100,000 records."""

SHRINKAGE = 20
"""Records that a model's usual similarities count as, so that a store of few records does not set the scale alone."""

ABOVE_USUAL = 0.1
"""How far above what is usual with its model the cosine of a store's unrelated texts may be."""

BELOW_USUAL = 0.15
"""How far below what is usual with its model the cosine of a store's neighbours may be: few texts are no neighbours."""

MIN_SPAN = 0.1
"""Cosine between unrelated and near, at least: a store of one text alone has no scale."""

# --- Relevance and nudges.

WORDS_POWER = 0.7
"""Exponent of the share of a query's words that a record has, so that the first words found count for more than the
last ones. No record of what it was chosen on is left."""

WORKED = {True: 1.0, None: 0.5, False: 0.0}
"""Share of the nudge for success, by outcome. Set by hand: an unknown outcome is halfway."""

# --- Order. Set by hand.

MIN_RANKED = 100
"""Candidates of either kind that are ranked at least."""

RANKED_PER_HIT = 4
"""Candidates of either kind that are ranked for each wanted hit, so that the nudges find the best among them."""

MAX_CANDIDATES = 2_000
"""Candidates of either kind among which distinct ones are looked for."""

ALIKE = 0.03
"""By how much the meaning of two attempts at one task, and what both signals of relevance add up to, may differ for
them to count as alike. One that succeeded then stands for all, however little less it answers the query."""

NEAR_COPY = 0.995
"""Cosine from which one text is a near-copy of another, so that a search that asks for diversity moves it down. Chosen
on the development half: from .98, right answers are taken for copies of wrong ones."""

RERANKED = 20
"""Hits that a reranker reads, the first of them."""

RERANKER_WEIGHT = 0.2
"""The addition for a score of 1, so a hit never passes one that is better by more than this without it."""

# --- What is shown: the level of a store. Chosen on the development half.

FOREIGN_SHARE = 0.97
"""Share of foreign queries that should have no hits. A goal, so not chosen on data."""

PRICE = 4.0
"""How many foreign queries that are shown something cost as much as hiding a right answer. A level that costs less
than that of the goal counts. Set by hand."""

OWN = 40
"""Records whose first sentence is asked. Set by hand, to bound the time that a measurement takes."""

ITSELF = 0.2
"""Part that the record itself has in what its first sentence shows of own queries, beside the best other record. Chosen
on manual pages in German: it costs the least on those in Chinese too."""

MAX_ASKED = 200
"""Characters of a first sentence that is asked. Set by hand."""

LOOKED_AT = 20
"""Candidates of either signal among which the best answers to a foreign query are. Comparing word pieces changes their
order. Set by hand."""

ANSWERS = 3
"""Best answers to a foreign query that are kept by each of both signals: weights decide later which one is best. Set
by hand."""

LOWEST_LEVEL, HIGHEST_LEVEL = 0.08, 0.21
"""Bounds of the level. A store of many subjects is at home with some of the foreign queries, so it sets no higher
one. Where records are abstract, their first sentences also overstate how relevant the answers to own queries are. In
the store of `python -m benchmarks lessons` the estimated 5th percentile is .42, and that of the tasks of the
development half is .21. There the price alone would choose .37. That hides the right answers of 26 tasks in 100, and
.21 those of 3. In other languages than English the upper one does not count: to a model that does not know a language,
all texts in it are near each other."""

OWN_PART = 0.4
"""Part of what 95 of 100 own queries reach, up to which the level may lie above `HIGHEST_LEVEL`. From .45, a right
answer was hidden on the development half."""

SMALL_LEVEL = 0.13
"""The level of a collection of fewer than `SMALL` records, which is too few to measure one by. Chosen on stores of 5 to
19 records that were drawn from the development half."""

TELLING = 0.15
"""Weighted share of a query's words from which a hit is always shown in a collection of fewer than `SMALL`
records. What two texts share by chance stays below. Chosen on the same stores."""

HIGHEST_WORDS_LEVEL = 0.2
"""Bound of the level of a search by words alone, a share of the query's words. `TELLING` is the lowest and the usual
one: on half of the questions about real attempts, a lower one brought more foreign hits and no more right ones."""

NEAR_BEST = 0.2
"""Share of the best hit's relevance that a hit needs to be shown beside it. It hides no right hit of the development
half. With 0.4, of general lessons that tasks share, one right answer in twenty was hidden beside a wrong one."""
