"""Sends what jobs need to nodes that have not the project: each content once to each node."""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from shortloop.engines.listing import SETUP
from shortloop.engines.messages import Reply, Work
from shortloop.engines.node_cache import DAMAGED, GAP, Piece
from shortloop.engines.node_messages import Needs, Parcel
from shortloop.errors import TransientError
from shortloop.jobs.store.manifest import MANIFEST

__all__ = ["AGAIN", "ASSUMED_RATE", "PARCEL", "Sent", "Supplies"]

PARCEL = 32_000_000
"""Bytes that are sent at a time."""
ASSUMED_RATE = 100e6
"""Bytes/s that a network is taken to carry before anything was sent, as one of a gigabit does."""
WORTH_MEASURING = 1_000_000  # bytes: less takes as long as a message does
GATHER = 0.3  # s in which other nodes are waited for, before anything is sent
TRIES = 3  # to send a content to a node
AGAIN = "run again: units that are done are kept"


class Sent:
    """What all jobs of an engine have sent, and how fast that was."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.under_way: set[tuple[str, str]] = set()
        """Name of a cache, and a content that is being sent there."""
        self.when: dict[tuple[str, str], float] = {}
        """The same of what came, with the time."""
        self._seconds, self._measured = 1.0, ASSUMED_RATE  # what is assumed counts as much as a second
        self._out, self._since = 0, 0.0

    @property
    def rate(self) -> float:
        """Bytes/s, to all nodes together."""
        return self._measured / self._seconds

    def begin(self) -> None:
        """Something is sent."""
        with self.lock:
            if not self._out:
                self._since = time.monotonic()
            self._out += 1

    def end(self, size: int) -> None:
        """It came, or was lost.

        Parameters
        ----------
        size : int
            Bytes that came.
        """
        with self.lock:
            self._out -= 1
            now = time.monotonic()
            if size >= WORTH_MEASURING:
                self._seconds += now - self._since
                self._measured += size
            self._since = now


class _Node:
    def __init__(self) -> None:
        self.workers: set[str] = set()
        self.waiting: dict[str, None] = {}  # contents, in their order
        self.of_others: set[str] = set()  # those that another job sends
        self.start = 0  # of what is left of the first
        self.out: Parcel | None = None


class Supplies:
    """What one job sends; its thread alone asks it.

    Parameters
    ----------
    work : Work
        The job.
    sent : Sent
        What all jobs of the engine have sent.
    ask : callable
        Has the job say what it needs.
    say : callable
        Is given a line for the one who has started the run.
    """

    def __init__(self, work: Work, sent: Sent, ask: Callable[[], Needs], say: Callable[[str], None]) -> None:
        self.work = work
        """The job, with the name of its listing as soon as a node has asked for that."""
        self.bytes = 0
        """All that it has sent, and that came."""
        self._sent, self._ask, self._say = sent, ask, say
        self._sender = secrets.token_hex(8)
        self._needs: Needs | None = None
        self._sources: dict[str, tuple[Path | bytes, int]] = {}
        self._nodes: dict[str, _Node] = {}
        self._tries: Counter[tuple[str, str]] = Counter()
        self._from = math.inf  # when sending contents begins
        self._listed = math.inf  # since when it is known what the listing is called
        self._has_said = False

    @property
    def under_way(self) -> bool:
        """Whether a node waits for something."""
        return bool(self._nodes)

    def waiting(self) -> set[str]:
        """Workers that cannot compute, as their nodes wait for something.

        Returns
        -------
        set of str
            As replies name them.
        """
        return set[str]().union(*(node.workers for node in self._nodes.values()))

    def workers_of(self, cache: str) -> set[str]:
        """Workers of a node that waits for something.

        Parameters
        ----------
        cache : str
            Name of its cache.

        Returns
        -------
        set of str
            Empty if it does not wait.
        """
        return self._nodes[cache].workers if cache in self._nodes else set()

    def lacks(self, reply: Reply, since: float) -> None:
        """A worker's node lacks something.

        Parameters
        ----------
        reply : Reply
            What it said.
        since : float
            When the batch was handed out, as of `time.monotonic`: what came later, it may not have seen.

        Raises
        ------
        TransientError
            If the node does not keep what it is sent.
        """
        assert reply.missing is not None
        cache, contents = reply.missing
        if self._needs is None:
            self._needs = self._ask()
            listing = self._needs["listing"]
            listed = hashlib.sha256(listing).hexdigest()
            self._sources = {**self._needs["sources"], listed: (listing, len(listing))}
            self.work = self.work._replace(listed=listed)
            self._listed = time.monotonic()
        if not contents:  # it has not known what the listing is called, and may have it
            if since > self._listed:
                self._count(cache, self.work.listed)
            return
        node = self._nodes.setdefault(cache, _Node())
        node.workers.add(reply.worker)
        for content in contents:
            with self._sent.lock:
                if self._sent.when.get((cache, content), -math.inf) >= since:
                    continue
                if (cache, content) in self._sent.under_way:
                    if content not in node.waiting:
                        node.of_others.add(content)
                    continue
                self._sent.under_way.add((cache, content))
            node.waiting[content] = None
            self._count(cache, content)
            if content != self.work.listed and self._from == math.inf:
                self._from = time.monotonic() + GATHER

    def parcels(self) -> Iterator[tuple[str, set[str], Parcel]]:
        """What is to be sent now, one parcel at a time to each node; `came` must be called for each.

        Yields
        ------
        cache : str
            Name of the node's cache.
        workers : set of str
            Its workers; any of them will do.
        parcel : Parcel
        """
        for cache, node in [*self._nodes.items()]:
            with self._sent.lock:
                node.of_others = {each for each in node.of_others if (cache, each) in self._sent.under_way}
            if not node.waiting and not node.of_others:
                del self._nodes[cache]
            elif node.out is None and node.waiting and self._may_begin(node):
                node.out = self._parcel(node)
                self._sent.begin()
                yield cache, node.workers, node.out

    def came(self, cache: str, answer: tuple[str, str] | None) -> None:
        """A parcel came, or not.

        Parameters
        ----------
        cache : str
            Name of the node's cache.
        answer : tuple of str, optional
            As of `shortloop.engines.mirror.keep_parcel`. None: its worker ended.

        Raises
        ------
        TransientError
            If the node cannot keep what it is sent, or that changed on the way.
        """
        node = self._nodes[cache]
        assert node.out is not None
        pieces, node.out = node.out.pieces, None
        name, wrong = answer or ("", "")
        if name != cache:  # it asks again, if it is still there
            self._sent.end(0)
            self._drop(cache)
            return
        size = 0 if wrong else sum(len(each.data) for each in pieces)
        self._sent.end(size)
        self.bytes += size
        if wrong:
            self._see(cache, wrong)
            return
        for content, whole, start, data in pieces:
            node.start = start + len(data)
            if node.start == whole:
                node.start = 0
                del node.waiting[content]
                with self._sent.lock:
                    self._sent.under_way.discard((cache, content))
                    self._sent.when[cache, content] = time.monotonic()

    def close(self) -> None:
        """The job has ended, or needs nothing any more."""
        for cache, node in [*self._nodes.items()]:
            if node.out is not None:
                self._sent.end(0)
            self._drop(cache)

    def _drop(self, cache: str) -> None:
        with self._sent.lock:
            self._sent.under_way -= {(cache, content) for content in self._nodes.pop(cache).waiting}

    def _count(self, cache: str, content: str) -> None:
        self._tries[cache, content] += 1
        if self._tries[cache, content] > TRIES:
            source = self._sources[content][0]
            raise TransientError(
                "a node of the cluster does not keep what it is sent",
                file=source if isinstance(source, Path) else None,
                found=f"it was sent {TRIES} times",
                hint=f"see that the node has room for it; {AGAIN}",
            )

    def _see(self, cache: str, wrong: str) -> None:
        """A node says that something went wrong."""
        content = wrong.partition(" ")[0]
        if wrong.endswith(DAMAGED):
            raise _other(self._sources[content][0])
        if not wrong.endswith(GAP):
            raise TransientError(
                "a node of the cluster cannot keep what it is sent",
                found=wrong,
                hint=f"see that it has room for {self._size():,} bytes; {AGAIN}",
            )
        self._nodes[cache].start = 0
        self._count(cache, content)

    def _size(self) -> int:
        return sum(size for _, size in self._sources.values())

    def _may_begin(self, node: _Node) -> bool:
        if [*node.waiting] == [self.work.listed]:
            return True
        if time.monotonic() < self._from:
            return False
        if not self._has_said:
            self._has_said = True
            self._say_what_it_costs()
        return True

    def _say_what_it_costs(self) -> None:
        """If that is more than the computing that it saves."""
        assert self._needs is not None
        nodes = [node for node in self._nodes.values() if node.waiting]
        size = sum(self._sources[content][1] for node in nodes for content in node.waiting)
        expected, here = size / self._sent.rate, self._needs["seconds"]
        if here is not None and expected > here:
            amount = f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
            where = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
            self._say(
                f"{self._needs['what']}: sending what it needs to {where}, {amount} in all, takes about "
                f"{_in_words(expected)}; computing it on this machine took {_in_words(here)}"
            )

    def _parcel(self, node: _Node) -> Parcel:
        pieces: list[Piece] = []
        room, start = PARCEL, node.start
        for content in node.waiting:
            source, size = self._sources[content]
            data = _read(source, start, min(room, size - start))
            pieces.append(Piece(content, size, start, data))
            room -= len(data)
            if room <= 0 or start + len(data) < size:
                break
            start = 0
        return Parcel(self._sender, pieces)


def _read(source: Path | bytes, start: int, size: int) -> bytes:
    if isinstance(source, bytes):
        return source[start : start + size]
    try:
        with source.open("rb") as stream:
            stream.seek(start)
            data = stream.read(size)
    except OSError as error:
        raise TransientError(
            f"a file that a job needs cannot be read ({error.strerror})", file=source, hint="run again"
        ) from None
    if len(data) != size:
        raise _other(source)
    return data


def _other(source: Path | bytes) -> TransientError:
    """What to say of a file whose content is not the one that was to be sent."""
    folders = source.parents if isinstance(source, Path) else []
    if any((folder / MANIFEST).is_file() and (folder / SETUP).is_file() for folder in folders):
        said = "a file of a job is not what the job left there"
        hint = "`shortloop verify --set-aside`, then run again: the job is built again"
        return TransientError(said, file=source, hint=hint)
    return TransientError("a file changed while a run went on", file=source, hint="run again")


def _in_words(seconds: float) -> str:
    if seconds >= 100:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds >= 0.1 else "less than 0.1 s"
