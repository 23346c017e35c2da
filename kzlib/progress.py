"""Progress that a person can follow: a tqdm bar in Lab, sparse plain lines when headless (`KZ_HEADLESS=1`).

A saved widget bar shows 0 % for ever and a text bar floods a log, so a headless run prints a line at most every
`EVERY_SECONDS` or every tenth part, and one closing line (reference: nteract/papermill#765, tqdm/tqdm#1120).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

EVERY_SECONDS = 10.0
MARK = "» "  # what the runner looks for in a notebook's output to show it in the terminal

T = TypeVar("T")


class Progress:
    """Counts `total` units of work and says how far it is, what the last values were and how long it will take.

    >>> bar = Progress("judge", total=2, headless=True)
    >>> bar.update(2, passed=1)
    » judge 2/2  passed 1  done in 0.0 s
    >>> bar.close()
    """

    def __init__(self, label: str, total: int | None = None, headless: bool | None = None) -> None:
        self.label, self.total, self.done = label, total, 0
        self.values: dict[str, Any] = {}
        self._start = self._last_time = time.monotonic()
        self._last_done = 0
        self._closed = False
        self._bar: Any = None
        if not (os.environ.get("KZ_HEADLESS") == "1" if headless is None else headless):
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, desc=label, leave=False)

    def update(self, n: int = 1, **values: Any) -> None:
        """`n` more units are done; named values (numbers or text) are shown beside the count."""
        self.done += n
        self.values |= values
        if self._bar is not None:
            self._bar.set_postfix({k: _short(v) for k, v in self.values.items()}, refresh=False)
            self._bar.update(n)
            return
        if self.total is not None and self.done >= self.total:
            self.close()
            return
        tenth = self.total is not None and (self.done - self._last_done) * 10 >= self.total
        waited = time.monotonic() - self._last_time
        if waited >= EVERY_SECONDS or (tenth and waited >= 1):
            self._say(self._left())

    def close(self) -> None:
        """Print the closing line, once; in Lab the bar goes and this line stays in the notebook."""
        if self._closed:
            return
        self._closed = True
        if self._bar is not None:
            self._bar.close()
        self._say(f"done in {duration(time.monotonic() - self._start)}")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        elif self._bar is not None:
            self._bar.close()

    def _left(self) -> str:
        if self.total is None or not self.done:
            return f"{duration(time.monotonic() - self._start)} so far"
        rate = (time.monotonic() - self._start) / self.done
        return f"{duration(rate * (self.total - self.done))} left"

    def _say(self, ending: str) -> None:
        self._last_time, self._last_done = time.monotonic(), self.done
        count = f"{self.done}/{self.total}" if self.total is not None else str(self.done)
        shown = [f"{name} {_short(value)}" for name, value in self.values.items()]
        print(MARK + "  ".join([f"{self.label} {count}", *shown, ending]), flush=True)


def track(iterable: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """The items of an iterable, with progress.

    >>> list(track([1, 2], "sample"))
    » sample 2/2  done in 0.0 s
    [1, 2]
    """
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    with Progress(label, total) as bar:
        for item in iterable:
            yield item
            bar.update()


def duration(seconds: float) -> str:
    """Seconds in the unit a reader would use.

    >>> duration(3.21), duration(75), duration(7300)
    ('3.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
