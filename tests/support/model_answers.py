"""Answers of a language model that pass every check, for attempts such as `attempt("cancel a flight")`."""

from __future__ import annotations

STRATEGY = {
    "reusable": True,
    "reason": "holds for every reservation",
    "title": "Cancel a reservation",
    "situation": "The user wants to cancel {reservation_id}.",
    "suggestion": "Check its cabin first.",
    "rationale": "The policy depends on the cabin.",
    "parameters": [{"name": "reservation_id", "type": "text", "description": "of the reservation"}],
}
