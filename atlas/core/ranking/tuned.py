"""The tuned parameters of retrieval and ranking, in the order of their use.

They are about words, word pieces, scale, relevance, nudges, order, and level. `atlas.memory.base.scoring` computes
scores from them. Each group names the data behind its
numbers. To choose one again, change it here and compare the rows of this command before and after:

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
"""BM25's term saturation and length normalisation."""

FIELD_WEIGHTS = 1.0, 0.5
"""Weight of an occurrence of a word in the document, and in the search text."""

FUNCTION_WEIGHT = 0.5
"""Factor for the weight of a function word, and of a pair of them.

A third of the words of a question are function words. In a small store they are rare by chance. Removing them
completely is worse for texts that are nearly equal to the query."""

FUNCTION_WEIGHT_OF_SMALL = 0.01
"""Factor of function words in a collection of fewer than `SMALL` records: almost 0, so that the share of common words
shows by itself whether a record is related to a query."""

SMALL = 20
"""Records below which a collection is too small to measure how rare a word is, or what is foreign to it.

What is foreign is measured in other languages than English all the same: without, a small store in Chinese shows
something to 19 foreign queries of 20, and with it to one in three.
"""

FEW_RECORDS = 10
"""Number of records from which on an unknown word of the query counts as the rarest.

In a smaller collection it counts like a word of one record.
"""

MAX_SEARCHED = 48
"""Maximum number of terms to search for, rarest first. More do not improve the result, and take longer."""

MAX_POSTINGS = 40_000
"""Terms are searched for, rarest first, until records hold them this often.

In collections of a few thousand records all terms are, and in large ones all but the commonest, which matter least.
"""

COMMON = 10_000
MIN_TERMS = 3
"""A term that more records hold, or half of them, is left out, unless that leaves fewer terms than this.

FTS5 gives what half of the records hold no weight. A pair is not looked for at all if more than `COMMON` hold one of
its words: to find it, all occurrences of both would have to be read.
"""

CONTEXT_SHARES = 0.2, 0.2
"""In a log or a conversation, how much the words of the next record count for one, and those of the one after.

Chosen on the development half of given conversations and logs.
"""

# --- Word pieces: late interaction. Chosen on the development half. Packed vectors are stored, so a change of `BITS` or
# `MOST_PIECES` also needs `atlas reembed`.

BITS = 192
"""Bits per word piece: 128 lose a third of the gain, and all of MiniLM's 384 dimensions as floats gain nothing more."""

SHARE = 0.7
"""Weight of late interaction in place of the pooled vectors' cosine, for a text that is far longer than the query.

For a text of the query's length it is 0, as pooled vectors are better there. With a half for texts of any length, of
the nine sets of the development half three were worse by more than chance.
"""

MAX_PIECES = 512
"""Maximum number of distinct word pieces stored per text. It bounds what a search reads of long texts.

Of more, those with the highest numbers are kept: vocabularies are in the order of how common a piece is, and the rare
ones matter most."""

COMPARED = 60
"""Number of candidates, most relevant first, whose word pieces are compared with the query's: the fewest of 60, 40, 30
and 20 with which the development half has the same hits as with 100."""

# --- Scale: which similarity is near. Set by hand, to bound what is measured on each store.

SAMPLED = 64
"""Number of records that are compared with all others: enough for a median, and some 0.3 s at 100,000 records."""

SHRINKAGE = 20
"""Pseudocount of the model's usual similarities, so that a few records do not determine the scale alone."""

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
"""Minimum number of ranked candidates per signal."""

RANKED_PER_HIT = 4
"""Number of ranked candidates per signal for each requested hit, so that nudges can promote any of them."""

MAX_CANDIDATES = 2_000
"""Maximum number of candidates per signal in a search for distinct tasks."""

SAME_DOMAIN = 0.1
"""Added to the rank value of a record of the requested domain: five times the nudge of a success, so that it decides
between hits of similar relevance, and less than what separates a related record from an unrelated one."""

ALIKE = 0.03
"""By how much the meaning of two attempts at one task, and what both signals of relevance add up to, may differ for
them to count as alike. One that succeeded then stands for all, however little less it answers the query."""

NEAR_COPY = 0.995
"""Cosine from which one text is a near-copy of another, so that a search that asks for diversity moves it down.

Chosen on the development half: from .98, right answers are taken for copies of wrong ones.
"""

RERANKED = 20
"""Number of first hits that a reranker scores."""

RERANKER_WEIGHT = 0.2
"""The addition for a score of 1, so a hit never passes one that is better by more than this without it."""

# --- What is shown: the level of a store. Chosen on the development half.

FOREIGN_SHARE = 0.97
"""Target share of foreign queries without hits. It is a goal, and not chosen on data."""

PRICE = 4.0
"""Number of foreign queries with hits that cost as much as one hidden right answer.

A cheaper level than the target's is preferred. Set by hand.
"""

MOST_ALIKE = 0.73
"""Nearness, on the usual scale of a model, from which foreign queries in a language are too much alike for it: words
alone then find and judge hits for queries there. With MiniLM it is a median cosine of .5, within the widest gap of the
12 languages: .35 to .46 in German, French, Dutch, Italian, Portuguese and Spanish, and .54 to .67 in Japanese, Polish,
Chinese, Russian, Korean and Arabic."""

OWN = 40
"""Number of records whose first sentence is used as a query. Set by hand, to limit the time of a calibration."""

ITSELF = 0.2
"""Part that the record itself has in what its first sentence shows of own queries, beside the best other record.

Chosen on manual pages in German: it costs the least on those in Chinese too.
"""

MAX_ASKED = 200
"""Maximum characters of a first sentence used as a query. Set by hand."""

LOOKED_AT = 20
"""Number of candidates per signal for a foreign query. Comparing word pieces changes their order. Set by hand."""

ANSWERS = 3
"""Best answers to a foreign query that are kept by each of both signals: weights decide later which one is best.

Set by hand.
"""

LOWEST_LEVEL, HIGHEST_LEVEL = 0.08, 0.21
"""Bounds of the level.

A store of many subjects is at home with some of the foreign queries, so it sets no higher one. Where records are
abstract, their first sentences also overstate how relevant the answers to own queries are. In the store of `python -m
benchmarks lessons` the estimated 5th percentile is .42, and that of the tasks of the development half is .21. There the
price alone would choose .37. That hides the right answers of 26 tasks in 100, and .21 those of 3. In other languages
than English the upper one does not count: to a model that does not know a language, all texts in it are near each
other.
"""

OWN_PART = 0.4
"""Part of what 95 of 100 own queries reach, up to which the level may lie above `HIGHEST_LEVEL`.

From .45, a right answer was hidden on the development half.
"""

SMALL_LEVEL = 0.13
"""The level of a collection of fewer than `SMALL` records, which is too few to measure one by.

Chosen on stores of 5 to 19 records that were drawn from the development half.
"""

TELLING = 0.15
"""Weighted share of a query's words from which a hit is always shown in a collection of fewer than `SMALL` records.

What two texts share by chance stays below. Chosen on the same stores.
"""

HIGHEST_WORDS_LEVEL = 0.2
"""Bound of the level of a search by words alone, a share of the query's words.

`TELLING` is the lowest and the usual one: on half of the questions about real attempts, a lower one brought more
foreign hits and no more right ones.
"""

NEAR_BEST = 0.2
"""Share of the best hit's relevance that a hit needs to be shown beside it.

It hides no right hit of the development half. With 0.4, of general lessons that tasks share, one right answer in twenty
was hidden beside a wrong one.
"""
