"""The tuned parameters of retrieval and ranking, in the order of their use.

`atlas.memory.base.scoring` computes scores from them. Each group names the data that its numbers were chosen on. To
choose a number again, change it here, and compare the output of this command before and after:

    atlas evaluate PATH... --half dev

docs/explanation/benchmarks.md lists the paths. Numbers may be chosen on the half `dev` of the tasks, and reported
figures come from the half `test`. Numbers that were set by hand give their reason instead of data. The weights of the
signals are settings of a store. Their defaults, in `atlas.core.settings.RankingWeights`, were chosen in the same way.
"""

from __future__ import annotations

# --- Words: BM25. K1 and B are those of FTS5, because both engines have to rank alike. The other numbers were set by
# hand, to limit the time of a query in a large collection.

K1, B = 1.2, 0.75
"""BM25's term saturation and length normalisation."""

FIELD_WEIGHTS = 1.0, 0.5
"""Weight of an occurrence of a word in the document, and in the search text."""

FUNCTION_WEIGHT = 0.5
"""Factor for the weight of a function word, and of a pair of function words.

A third of the words of a question are function words. In a small store, some of them are rare by chance. With factor
0, texts that nearly equal the query rank worse."""

FUNCTION_WEIGHT_OF_SMALL = 0.01
"""Factor of function words in a collection of fewer than `SMALL` records: almost 0, so that the share of common words
shows by itself whether a record is related to a query."""

SMALL = 20
"""Number of records below which a collection is too small to measure the rarity of words, or a relevance level.

In languages other than English, the level is measured nevertheless. Otherwise a small store in Chinese returns hits for
19 of 20 foreign queries. With the measurement, it does for one in three.
"""

FEW_RECORDS = 10
"""Minimum number of records for which a query's unknown word counts as rarer than any known word.

In a smaller collection it counts like a word that one record contains.
"""

MAX_SEARCH_TERMS = 48
"""Maximum number of terms to search for, rarest first. More do not improve the result, and take longer."""

MAX_POSTINGS = 40_000
"""Maximum number of postings to read. Terms are searched for, rarest first, until this number is reached.

In collections of a few thousand records, all terms are searched for. In large ones, only the most common terms are left
out, which matter least.
"""

COMMON = 10_000
MIN_TERMS = 3
"""A term is left out if more than `COMMON` records, or half of all records, contain it. At least `MIN_TERMS` remain.

FTS5 gives no weight to a term in half of the records. A pair of words is left out if more than `COMMON` records contain
one of them, because the search would have to read all occurrences of both.
"""

CONTEXT_SHARES = 0.2, 0.2
"""Weights of the words of the next record, and of the record after it, for a record of a log or a conversation.

Chosen on the development half of the conversations and logs.
"""

# --- Word pieces: late interaction. Chosen on the development half. Packed vectors are stored, so a change of `BITS` or
# `MOST_PIECES` also needs `atlas reembed`.

BITS = 192
"""Bits per word piece. 128 bits lose a third of the gain. Unpacked vectors of MiniLM's 384 dimensions gain no more."""

SHARE = 0.7
"""Weight of late interaction for a text that is far longer than the query. The cosine of pooled vectors has the rest.

For a text of the query's length the weight is 0, because pooled vectors are better there. With 0.5 for texts of any
length, three of the nine sets of the development half became significantly worse.
"""

MAX_PIECES = 512
"""Maximum number of distinct word pieces stored per text, which limits what a search reads of long texts.

The pieces with the highest numbers are kept. Vocabularies list common pieces first, and rare pieces matter most."""

N_COMPARED = 60
"""Number of candidates, most relevant first, whose word pieces are compared with the query's.

The hits on the development half are the same as with 100, unlike with 40, 30 or 20."""

# --- Scale: the similarity of unrelated and of near texts. Set by hand, as bounds for the measurement on each store.

N_SAMPLED = 64
"""Number of records that are compared with all others. It suffices for a median, and takes 0.3 s at 100,000 records."""

SHRINKAGE = 20
"""Pseudocount of the model's usual similarities, so that a few records do not determine the scale alone."""

MAX_EXCESS = 0.1
"""Largest excess of the cosine of a store's unrelated texts over the model's usual one."""

MAX_SHORTFALL = 0.15
"""Largest shortfall of the cosine of a store's neighbours from the model's usual one. In a store of few texts, the
nearest texts may be unrelated."""

MIN_SPAN = 0.1
"""Minimum difference between the cosines of near and of unrelated texts. A store of a single text has no scale."""

# --- Relevance and nudges.

WORDS_POWER = 0.7
"""Exponent of the share of a query's words that a record contains. Below 1, the first matching words count for more
than the last ones. The data for this choice are not recorded."""

SUCCESS_SHARES = {True: 1.0, None: 0.5, False: 0.0}
"""Share of the nudge for success, by outcome. Set by hand: an unknown outcome is halfway."""

# --- Order. Set by hand.

MIN_RANKED = 100
"""Minimum number of ranked candidates per signal."""

RANKED_PER_HIT = 4
"""Number of ranked candidates per signal for each requested hit, so that nudges can promote any of them."""

MAX_CANDIDATES = 2_000
"""Maximum number of candidates per signal in a search for distinct tasks."""

SAME_DOMAIN = 0.1
"""Addition to the rank value of a record of the requested domain.

It is five times the nudge of a success, so it decides between hits of similar relevance. It is less than the difference
between a related and an unrelated record."""

MAX_ATTEMPT_DIFFERENCE = 0.03
"""Largest difference of two similar attempts at one task, in their signal `meaning` and in the sum of `meaning` and
`words`. A success then represents all of them, even if it is slightly less relevant."""

NEAR_COPY = 0.995
"""Minimum cosine of a near-copy, which a search with diversity moves down.

Chosen on the development half. With .98, right answers count as copies of wrong ones.
"""

N_RERANKED = 20
"""Number of first hits that a reranker scores."""

RERANKER_WEIGHT = 0.2
"""Largest addition of a reranker to the rank value. No hit moves past one whose rank value is higher by more."""

# --- Level: the least relevance of the best hit for which a search returns hits. Chosen on the development half.

FOREIGN_SHARE = 0.97
"""Target share of foreign queries, about subjects that are not in the store, without hits. Not chosen on data."""

PRICE = 4.0
"""Number of foreign queries with hits that cost as much as one hidden right answer.

If another level costs less than the one for `FOREIGN_SHARE`, it is preferred. Set by hand.
"""

MAX_NEARNESS = 0.73
"""Median nearness of unrelated queries in a language above which a model cannot tell texts in the language apart.

For queries in such a language, only words find and judge hits. The nearness is on the usual scale of the model. With
MiniLM it is a median cosine of .5, within the widest gap of the 12 languages: .35 to .46 in German, French, Dutch,
Italian, Portuguese and Spanish, and .54 to .67 in Japanese, Polish, Chinese, Russian, Korean and Arabic."""

N_OWN_QUERIES = 40
"""Number of records whose first sentence is used as a query. Set by hand, to limit the time of a calibration."""

SOURCE_WEIGHT = 0.2
"""Weight of a record in the estimated relevance of the best answer to the record's own first sentence.

The best other record has the remaining weight. Chosen on manual pages in German. On manual pages in Chinese, it costs
the least too.
"""

MAX_QUERY_CHARACTERS = 200
"""Maximum characters of a first sentence used as a query. Set by hand."""

N_FOREIGN_CANDIDATES = 20
"""Number of candidates per signal for a foreign query. Comparing word pieces changes their order. Set by hand."""

N_ANSWERS = 3
"""Number of best answers to a foreign query that are kept for each of the signals `meaning` and `words`.

The best one depends on the weights, which may change. Set by hand.
"""

LOWEST_LEVEL, HIGHEST_LEVEL = 0.08, 0.21
"""Bounds of the level.

The upper bound has two reasons. A store of many subjects has answers to some foreign queries. And the first sentences
of abstract records overstate the relevance of the answers to real queries. In the store of `python -m benchmarks
lessons`, the estimated 5th percentile is .42, but for the tasks of the development half it is .21. The price alone
would choose .37, which hides the right answers of 26 tasks in 100. With .21, 3 in 100 are hidden. The upper bound
applies to English only: a model without knowledge of a language finds all texts in it similar.
"""

OWN_FACTOR = 0.4
"""Factor for the relevance that 95% of own queries reach. The product may raise the bound `HIGHEST_LEVEL`.

With .45, a right answer was hidden on the development half.
"""

SMALL_LEVEL = 0.13
"""The level of a collection of fewer than `SMALL` records, which are too few for a measurement.

Chosen on stores of 5 to 19 records that were drawn from the development half.
"""

MIN_WORD_SHARE = 0.15
"""Weighted share of a query's words from which a hit is always shown in a collection of fewer than `SMALL` records.

Two unrelated texts share less. Chosen on the same stores.
"""

HIGHEST_WORDS_LEVEL = 0.2
"""Upper bound of the level of a keyword search, a share of the query's words.

The lower bound and the default is `MIN_WORD_SHARE`. On half of the questions about real attempts, a lower level
returned more hits for foreign queries, and no more right hits.
"""

MIN_SHARE_OF_BEST = 0.2
"""Minimum relevance of a shown hit, as a share of the best hit's relevance.

It hides no right hit of the development half. With 0.4, one in twenty right answers was hidden by a wrong best hit, in
a store of general lessons for several tasks.
"""
