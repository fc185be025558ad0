"""Results in Parquet: a file a study, a row a number of rows or an evaluation, each with the key of its job."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from filelock import FileLock

from headstart.benchmark.jobs import Job, Study
from headstart.errors import DataError, FileFormatError
from headstart.writing import write_whole

_IDENTITY = ["experiment", "system", "task", "seed", "model", "settings"]


class Results:
    """A folder of results.

    A batch is written whole or not at all, and under a lock: several runs may share a folder. A result of another
    version stays until the same job is run again.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def add(self, frames: Sequence[pd.DataFrame], study: Study) -> None:
        """Keep the results of finished jobs of one study."""
        path = self._path(study)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock")):
                self._merge(frames, path)
        except OSError as error:
            raise FileFormatError(
                f"Results cannot be written to {self.folder}: {error.strerror}. What was stored before is kept: make "
                "room or give another folder, and run again."
            ) from error

    def _merge(self, frames: Sequence[pd.DataFrame], path: Path) -> None:
        new = pd.concat(frames, ignore_index=True)
        old = self._read(path)
        if len(old):
            same = pd.MultiIndex.from_frame(old[_IDENTITY]).isin(pd.MultiIndex.from_frame(new[_IDENTITY]))
            new = pd.concat([old[~same], new], ignore_index=True)
        buffer = io.BytesIO()
        new.to_parquet(buffer, engine="pyarrow", index=False, write_page_checksum=True)
        write_whole(path, buffer.getvalue())

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        """The jobs that have no result yet, in their order."""
        jobs = list(jobs)
        done = {key for study in _studies(jobs) for key in self._read(self._path(study)).get("key", ())}
        return [job for job in jobs if job.key not in done]

    def load(self, jobs: Iterable[Job]) -> pd.DataFrame:
        """The results of exactly these jobs; those that have none are an error."""
        jobs = list(jobs)
        absent = self.missing(jobs)
        if absent:
            raise DataError(
                f"{len(absent)} of {len(jobs)} jobs have no result in {self.folder}, first {absent[0].identity}."
            )
        return self.available(jobs)

    def available(self, jobs: Iterable[Job]) -> pd.DataFrame:
        """The results of those of these jobs that have one."""
        jobs = list(jobs)
        frames = [self._read(self._path(study)) for study in _studies(jobs)]
        found = pd.concat([frame for frame in frames if len(frame)] or [pd.DataFrame({"key": []})], ignore_index=True)
        return found[found["key"].isin({job.key for job in jobs})].reset_index(drop=True)

    def _path(self, study: Study) -> Path:
        return self.folder / f"{study.file_name}.parquet"

    @staticmethod
    def _read(path: Path) -> pd.DataFrame:
        if not path.exists():
            return pd.DataFrame()
        try:
            # Arrow opens a path more than once, and between two times another process may replace the file.
            whole = io.BytesIO(path.read_bytes())
            found = pd.read_parquet(whole, engine="pyarrow", page_checksum_verification=True)
            found[["key", *_IDENTITY]].to_numpy()  # all there, and text can be decoded, which Arrow leaves for later
        except Exception as error:  # a garbled file can make Arrow and pandas raise anything
            raise FileFormatError(
                f"{path} cannot be read as results ({error}). If it is damaged, delete it: its jobs will be run again."
            ) from error
        return found


def _studies(jobs: Iterable[Job]) -> list[Study]:
    return list(dict.fromkeys(job.study for job in jobs))
