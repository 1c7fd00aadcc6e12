"""Named profiles of ranking weights, and the choice of the active one.

Each profile is a note in the ledger, so backups contain profiles, other processes see changes immediately, and damage
to one profile does not affect the others.
"""

from __future__ import annotations

import json
import logging
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from atlas.core.errors import InvalidInput, NotFound, PlanOutdated
from atlas.core.json_values import check_text
from atlas.core.settings import RankingWeights
from atlas.storage.engine import Notes

logger = logging.getLogger(__name__)

DEFAULT = "default"
"""The built-in profile with the weights that `RankingWeights` documents. Cannot be changed or deleted."""

MAX_NAME = 60
MAX_WEIGHT = 1_000.0
"""Maximum weight: far above sensible weights, and far below an overflow of their sum."""

HALF_LIFE_DAYS = (0.01, 1_000_000.0)
"""Shortest and longest half-life: a quarter of an hour, and 2,700 years."""

_NOTES = "profile"
"""Common prefix of all notes on profiles, to read them together."""

_PREFIX, _IN_USE = "profile:", "profile_in_use"
"""Prefix of the notes of saved profiles, and the note with the name of the profile in use."""

_INVISIBLE = {"Cc", "Cf", "Zl", "Zp"}
"""Unicode categories of characters that break a line or are invisible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Named ranking weights."""

    name: str
    weights: RankingWeights
    problem: str = ""
    """Reason why the stored profile cannot be used. Searches then use the built-in weights. Usually empty."""


BUILT_IN = Profile(name=DEFAULT, weights=RankingWeights())


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """A change of the profiles, which `Profiles.restore` can undo."""

    before: Mapping[str, str | None]
    """The changed notes before the change, keyed by name. None for a missing note."""

    after: Mapping[str, str | None]
    """The changed notes after the change, keyed by name. None for a deleted note."""


class Profiles:
    """The profiles of one store. A change is visible to all processes immediately."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._warned: set[str] = set()

    def all(self) -> tuple[Profile, ...]:
        """Return the built-in profile, then the saved ones, sorted by name. An unreadable one has a `problem`."""
        return (BUILT_IN, *(_read_profile(name, value) for name, value in self._notes.read(_PREFIX).items()))

    def get(self, name: str) -> Profile:
        """Return the profile with a name.

        Raises:
            NotFound: There is no profile with this name.
            InvalidInput: The stored profile is invalid.
        """
        profile = self._find(name)
        if profile.problem:
            raise InvalidInput(f"the profile {profile.name!r} {profile.problem}; save it again, or delete it")
        return profile

    def in_use(self) -> Profile:
        """Return the profile that searches of this store use, by default the built-in one.

        An unreadable profile has the built-in weights and a `problem`.
        """
        notes = self._notes.read(_NOTES)
        name = notes.get(_IN_USE.removeprefix(_NOTES))
        if not name or name == DEFAULT:
            return BUILT_IN
        profile = _read_profile(name, notes.get(f"{_PREFIX}{name}".removeprefix(_NOTES)))
        if profile.problem and name not in self._warned:
            self._warned.add(name)
            logger.warning("%s", problem_in_use(profile))
        return profile

    def weights(self) -> RankingWeights:
        """Return the weights that searches of this store use now."""
        return self.in_use().weights

    def save(self, name: str, weights: RankingWeights) -> ProfileChange:
        """Save weights under a name, replacing the profile with this name, if any.

        Raises:
            InvalidInput: The name is empty, too long, not one line, the built-in profile's, or looks like another
                profile's, or a weight is out of range.
            ReadOnlyStore: The store was opened for reading only.
        """
        name = check_name(name)
        check_weights(weights)
        similar = [profile.name for profile in self.all() if _comparison_key(profile.name) == _comparison_key(name)]
        if similar and name not in similar:
            raise InvalidInput(
                f"{name!r} looks like the existing profile {similar[0]!r}; choose another name, or use that name to "
                "replace the profile"
            )
        return self._write({_PREFIX + name: json.dumps(asdict(weights))})

    def delete(self, name: str) -> ProfileChange:
        """Delete a profile. If it was the active one, the built-in one becomes active.

        Raises:
            NotFound: There is no profile with this name.
            InvalidInput: The profile is the built-in one.
            ReadOnlyStore: The store was opened for reading only.
        """
        name = _normalize(name)
        if name == DEFAULT:
            raise InvalidInput(
                f"{DEFAULT!r} is built in and cannot be deleted; to search with another one: atlas profiles use NAME"
            )
        is_in_use = self._find(name).name == self.in_use().name
        removed_notes = [_PREFIX + name, _IN_USE] if is_in_use else [_PREFIX + name]
        return self._write(dict.fromkeys(removed_notes))

    def use(self, name: str) -> ProfileChange:
        """Set the profile that searches of this store use, in other processes too.

        Raises:
            NotFound: There is no profile with this name.
            InvalidInput: The stored profile is invalid.
            ReadOnlyStore: The store was opened for reading only.
        """
        profile = self.get(name)
        return self._write({_IN_USE: None if profile.name == DEFAULT else profile.name})

    def restore(self, change: ProfileChange) -> ProfileChange:
        """Undo a change, and return the change that redoes it.

        Raises:
            PlanOutdated: The profile has changed again; the store was not changed.
        """
        return self._write(change.before, expected=change.after)

    def _find(self, name: str) -> Profile:
        """Return the profile with a name, which may be unreadable, or raise `NotFound`."""
        name = _normalize(name)
        match = next((profile for profile in self.all() if profile.name == name), None)
        if match is None:
            raise NotFound(f"there is no profile {name!r}; see: atlas profiles")
        return match

    def _write(
        self, texts: Mapping[str, str | None], *, expected: Mapping[str, str | None] | None = None
    ) -> ProfileChange:
        """Write notes if the stored ones are as expected, or raise `PlanOutdated`."""
        try:
            # Cached results are keyed by the revision, so it has to change.
            before = self._notes.write(texts, expected=expected, increases_revision=True)
        except PlanOutdated as error:
            raise PlanOutdated("the profile has changed since it was read; nothing was written. Reload it") from error
        return ProfileChange(before=before, after=dict(texts))


def problem_in_use(profile: Profile) -> str:
    """Return why searches use the built-in weights instead of a profile, or an empty string."""
    if not profile.problem:
        return ""
    return (
        f"searches should use the profile {profile.name!r}, which {profile.problem}, so they use the built-in weights; "
        "choose an existing profile: atlas profiles use NAME"
    )


def check_name(name: str) -> str:
    """Return a name in stored form: stripped, and in Unicode's composed form (NFC).

    Raises:
        InvalidInput: The name is empty, longer than `MAX_NAME`, not one line, or the name of the built-in profile.
    """
    check_text(name, "the profile's name")
    name = _normalize(name)
    if not 0 < len(name) <= MAX_NAME:
        raise InvalidInput(
            f"expected 1 to {MAX_NAME} characters for a profile's name, got {len(name)}; choose another name"
        )
    if any(unicodedata.category(letter) in _INVISIBLE for letter in name):
        raise InvalidInput(
            f"expected one line of visible characters for a profile's name, got {name!r}; choose another name"
        )
    if _comparison_key(name) == DEFAULT:
        raise InvalidInput(f"{name!r} is the built-in profile, which cannot be changed; choose another name")
    return name


def check_weights(weights: RankingWeights) -> None:
    """Raise `InvalidInput` if searches cannot use these weights."""
    for option in fields(weights):
        value = getattr(weights, option.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            low, high = _allowed_range(option.name)
            if not (math.isfinite(value) and low <= value <= high):
                raise InvalidInput(
                    f"expected a number from {low:g} to {high:g} for {option.name}, got {value!r}; change it"
                )
    if not weights.meaning + weights.words:
        raise InvalidInput("expected a weight above 0 for meaning or words, got 0 for both; raise one of them")


def _allowed_range(name: str) -> tuple[float, float]:
    """Return the smallest and largest allowed value of a numeric weight."""
    return {"recency_half_life_days": HALF_LIFE_DAYS}.get(name, (0.0, MAX_WEIGHT))


def _read_profile(name: str, value: str | None) -> Profile:
    """Return the profile in a note. An unreadable one has the built-in weights and a `problem`."""
    try:
        return Profile(name=name, weights=_decode_weights(value))
    except (ValueError, TypeError, RecursionError) as error:
        return Profile(name=name, weights=BUILT_IN.weights, problem=f"cannot be read ({error})")


def _decode_weights(value: str | None) -> RankingWeights:
    """Return weights from JSON. Weights that an earlier version did not have get their defaults."""
    if value is None:
        raise ValueError("the profile was deleted")
    encoded = json.loads(value)
    types = {option.name: type(option.default) for option in fields(RankingWeights)}
    if not isinstance(encoded, dict):
        raise TypeError(f"expected an object of weights, got {encoded!r:.80}")
    threshold = encoded.pop("threshold", None)
    if isinstance(threshold, int | float):  # earlier versions had a threshold, by default 0.25
        encoded["strictness"] = threshold / 0.25
    for name, weight in encoded.items():
        if name not in types:
            raise ValueError(f"{name!r} is not a ranking weight of this version of ATLAS; remove it")
        allowed_types = (int, float) if types[name] is float else (types[name],)
        if type(weight) not in allowed_types:
            raise TypeError(f"expected {types[name].__name__} for {name}, got {weight!r}")
    weights = RankingWeights(**encoded)
    check_weights(weights)
    return weights


def _normalize(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip())


def _comparison_key(name: str) -> str:
    """Return a key that is equal for names that differ only in case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())
