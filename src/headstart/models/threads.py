"""Threads for small work: one.

A fit of 25 rows is thousands of operations of microseconds each. Splitting those over threads gains nothing, and on a
machine that does other things as well, waiting for the second thread can take many times longer than the work. At 408
rows on two cores, two threads took 0.8 of the time of one when both cores were idle, and 3 to 23 times as long as one
beside another process that kept one or both of them busy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import torch
from threadpoolctl import ThreadpoolController

# Entries of a batch of covariance matrices up to which one thread is used: some 500 rows in a fit.
_SMALL = 2**21

_lock = threading.Lock()
_controller = ThreadpoolController()


class _Shared:
    """A process-wide setting that the first block to enter makes and the last one to leave undoes."""

    def __init__(self, change: Callable[[], Callable[[], None]]) -> None:
        self._change = change
        self._users = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with _lock:
            if self._users == 0:
                self._undo = self._change()
            self._users += 1
        try:
            yield
        finally:
            with _lock:
                self._users -= 1
                if self._users == 0:
                    self._undo()


def _one_blas_thread() -> Callable[[], None]:
    limiter = _controller.limit(limits=1, user_api="blas")
    return limiter.restore_original_limits


def _one_torch_thread() -> Callable[[], None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    return lambda: torch.set_num_threads(before)


_blas_limited, _torch_limited = _Shared(_one_blas_thread), _Shared(_one_torch_thread)


@contextmanager
def threads_for(entries: int) -> Iterator[None]:
    """One thread inside the block when the work is small; L-BFGS-B's own tiny algebra always has one."""
    with _blas_limited(), _torch_limited() if entries <= _SMALL else nullcontext():
        yield
