"""What was computed once and is asked for again and again, kept for as long as it holds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Kept:
    """Finished things, each for one state of what it was made of; of too many, the one not used for longest goes.

    Of several threads that ask for the same at once, one makes it and the others wait. What fails is not kept.

    >>> kept = Kept(most=10)
    >>> kept.get("sum", "state 1", lambda: 1 + 1), kept.get("sum", "state 1", lambda: 1 / 0)
    (2, 2)
    >>> kept.get("sum", "state 2", lambda: 1 + 2)
    3
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, tuple[str, Future[Any]]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, state: str, make: Callable[[], T]) -> T:
        """What `make` makes, or has made for the same key and state."""
        with self._lock:
            held = self._held.pop(key, None)
            is_new = held is None or held[0] != state
            entry: tuple[str, Future[T]] = (state, Future()) if held is None or is_new else held
            self._held[key] = entry
            if len(self._held) > self._most:
                self._held.popitem(last=False)
        future = entry[1]
        if is_new:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    if self._held.get(key) is entry:
                        del self._held[key]
                future.set_exception(error)
        return future.result()
