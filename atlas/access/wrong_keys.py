"""Rate limiting of wrong keys, links and tokens by client address."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

FREE_ATTEMPTS = 10
"""Number of wrong keys per address before the first wait."""

MAX_WAIT_SECONDS = 60.0
FORGET_SECONDS = 900.0
"""Time without a wrong key after which the count of an address is reset."""

MAX_ADDRESSES = 10_000
"""Maximum number of tracked addresses. The least recent ones are dropped."""


@dataclass(slots=True)
class _Failures:
    """The wrong keys of one address."""

    n_wrong_keys: int = 0
    last_at: float = -math.inf
    blocked_until: float = -math.inf
    """Time until which further failures are rejected without being counted."""


class WrongKeyBackoff:
    """Exponential backoff for client addresses that send wrong keys.

    After the tenth wrong key, the address has to wait 1, 2, 4 … seconds. A correct key is accepted during a wait, so an
    agent that shares its address with an attacker can continue. Keys have 256 random bits, so the backoff protects the
    server's time and its audit log, not the keys.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._by_address: OrderedDict[str, _Failures] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, address: str) -> float:
        """Count a wrong key of an address. Return the seconds that the address still has to wait, or 0.

        A wrong key that is sent during a wait is not counted.
        """
        now, network = self._monotonic(), _network_of(address)
        with self._lock:
            failures = self._by_address.setdefault(network, _Failures())
            self._by_address.move_to_end(network)
            if len(self._by_address) > MAX_ADDRESSES:
                self._by_address.popitem(last=False)
            if now < failures.blocked_until:
                return failures.blocked_until - now
            if now - failures.last_at > FORGET_SECONDS:
                failures.n_wrong_keys = 0
            failures.n_wrong_keys, failures.last_at = failures.n_wrong_keys + 1, now
            if failures.n_wrong_keys >= FREE_ATTEMPTS:
                failures.blocked_until = now + min(MAX_WAIT_SECONDS, 2.0 ** (failures.n_wrong_keys - FREE_ATTEMPTS))
            return 0.0


def _network_of(address: str) -> str:
    """Return an IPv4 address as it is, and an IPv6 address as its /64 network, which belongs to one subscriber."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
