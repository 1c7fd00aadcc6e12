"""The system's clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The system clock in UTC."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)
