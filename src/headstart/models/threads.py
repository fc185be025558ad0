"""Threads for small work: one.

A fit of 25 rows is thousands of operations of microseconds each. Splitting those over threads gains nothing, and on a
machine that does other things as well, waiting for the second thread can take ten times longer than the work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import ThreadpoolController

# Entries of a batch of covariance matrices below which one thread is faster.
_SMALL = 2**20

_lock = threading.Lock()
_users = 0
_threads_before = 1
_blas = ThreadpoolController()


@contextmanager
def threads_for(entries: int) -> Iterator[None]:
    """One thread inside the block when the work is small; L-BFGS-B's own tiny algebra always has one.

    Nested and concurrent blocks share the setting: the last one out restores it.
    """
    global _users, _threads_before
    with _blas.limit(limits=1, user_api="blas"):
        if entries > _SMALL:
            yield
            return
        with _lock:
            if _users == 0:
                _threads_before = torch.get_num_threads()
                torch.set_num_threads(1)
            _users += 1
        try:
            yield
        finally:
            with _lock:
                _users -= 1
                if _users == 0:
                    torch.set_num_threads(_threads_before)
