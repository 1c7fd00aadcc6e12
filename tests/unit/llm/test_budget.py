"""What questions cost."""

from __future__ import annotations

import pytest

from atlas.core.errors import LLMBudgetExceeded
from atlas.core.settings import Settings
from atlas.llm.budget import PRICES, Meter, TokenUsage, estimate_tokens, with_cost

MILLION = TokenUsage(
    n_calls=1,
    input_tokens=1_000_000,
    output_tokens=1_000_000,
    cache_read_tokens=1_000_000,
    cache_written_tokens=1_000_000,
)


def test_each_kind_of_token_has_its_price():
    assert with_cost("claude-sonnet-5-5", MILLION).cost_usd == pytest.approx(2 + 10 + 0.1 + 2.5)


def test_a_name_with_a_date_has_the_price_of_its_model():
    assert with_cost("claude-haiku-4-5-20251001", TokenUsage(output_tokens=1_000_000)).cost_usd == pytest.approx(5)


def test_a_long_prompt_costs_more_where_the_model_says_so():
    short, long = TokenUsage(input_tokens=100_000), TokenUsage(input_tokens=90_000, cache_read_tokens=10_001)
    assert with_cost("claude-haiku-5-5", short).cost_usd == pytest.approx(0.01)
    assert with_cost("claude-haiku-5-5", long).cost_usd == pytest.approx(5 * (0.09 * 0.1 + 0.010001 * 0.01))


def test_the_price_of_an_unknown_model_is_unknown_and_not_nothing():
    unknown = with_cost("llama", MILLION)
    assert unknown.cost_usd is None
    assert (unknown + with_cost("claude-opus-5", MILLION)).cost_usd is None
    assert "cost unknown" in str(unknown)


def test_sums_add_every_kind():
    twice = with_cost("claude-opus-5-5", MILLION) + with_cost("claude-opus-5-5", MILLION)
    assert (twice.n_calls, twice.tokens) == (2, 8_000_000)
    assert twice.cost_usd == pytest.approx(2 * (4 + 20 + 0.2 + 5))
    assert str(twice) == "2 calls, 8,000,000 tokens, $58.4000"


def test_the_default_model_has_a_price():
    assert Settings().llm_model in PRICES


def test_a_meter_refuses_what_could_go_over_its_limit():
    meter = Meter(100)
    meter.reserve(60)
    with pytest.raises(LLMBudgetExceeded, match=r"is 100 tokens, of which 60 are used; .* 41 more"):
        meter.reserve(41)
    meter.settle(60, TokenUsage(n_calls=1, input_tokens=50))
    meter.reserve(50)
    assert meter.spent.tokens == 50


def test_the_estimate_is_above_what_english_takes():
    assert estimate_tokens("four words of English", "") == 7
