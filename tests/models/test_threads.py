"""The thread setting is shared by concurrent blocks and restored by the last."""

import torch
from threadpoolctl import threadpool_info

from headstart.models.threads import threads_for


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_overlapping_blocks_restore_everything():
    before = torch.get_num_threads(), blas_threads()
    first, second = threads_for(10), threads_for(10)
    first.__enter__()
    second.__enter__()
    assert torch.get_num_threads() == 1
    assert set(blas_threads()) == {1}
    first.__exit__(None, None, None)
    assert torch.get_num_threads() == 1
    second.__exit__(None, None, None)
    assert (torch.get_num_threads(), blas_threads()) == before


def test_large_work_keeps_torchs_threads():
    before = torch.get_num_threads()
    with threads_for(10**9):
        assert torch.get_num_threads() == before
        assert set(blas_threads()) == {1}
