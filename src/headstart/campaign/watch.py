"""Whether an SQLite file has changed: a look that costs microseconds, so that nothing unchanged is read again."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from urllib.parse import quote


class Watch:
    """One connection that never reads or writes, and knows of every commit through others, in any process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "some.db"
    ...     writer = sqlite3.connect(path)
    ...     _ = writer.execute("PRAGMA journal_mode = WAL")
    ...     watch = Watch(path)
    ...     before = watch.state()
    ...     unchanged = watch.state() == before
    ...     _ = writer.execute("CREATE TABLE a (b)")
    ...     print(unchanged, watch.state() == before)
    ...     writer.close()
    ...     watch.close()
    True False
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._of: tuple[int, int, int] | None = None

    def state(self) -> str | None:
        """Another text after every commit; None if the file cannot be looked at, which reading it will explain."""
        with self._lock:
            try:
                file = os.stat(self._path)
                # A file put in the place of another, and a process forked from another, begin anew.
                of = (file.st_dev, file.st_ino, os.getpid())
                if self._connection is None or of != self._of:
                    self._connection, self._of = self._open(), of
                [version] = self._connection.execute("PRAGMA data_version").fetchone()
            except (OSError, sqlite3.Error):
                self._connection = None
                return None
            return "-".join(map(str, (*of, version)))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        address = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
