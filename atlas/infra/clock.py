"""The system's clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The present time, in UTC."""

    def now(self) -> datetime:
        """Return the present."""
        return datetime.now(UTC)
