"""Send files that jobs need to nodes without the project, each content once to each node.

One job at a time sends to a node; then the next one sends what is still missing. What several nodes lack is
given to the engine's library once, and nodes fetch it from each other.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blake3 import blake3

from shortloop.base.errors import TransientError
from shortloop.base.text import counted, duration
from shortloop.store.manifest import MANIFEST
from shortloop.units.listing import SETUP
from shortloop.units.messages import Needs, Parcel, Reply, Work
from shortloop.units.node_cache import DAMAGED, GAP, Piece

PARCEL = 8_000_000  # bytes that are sent at a time
SHARED = 12  # parcels that are kept for nodes that are slower, or have begun later
ASSUMED_RATE = 100e6  # bytes/s of a network, before anything was sent: one of a gigabit
WORTH_MEASURING = 1_000_000  # bytes: less takes as long as a message does
GATHER = 0.3  # s that other nodes are waited for, before anything is sent
TRIES = 3  # to send a content to a node
LOSSES = 20  # of parcels on the way to a node: its workers may end and start again
AGAIN = "run again: units that are done are kept"

Cut = tuple[tuple[str, int, int, int], ...]  # content, its size, start and bytes of each piece of a parcel


class Sent:
    """Contents that all jobs of an engine have sent, and the rate."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.busy: set[str] = set()  # caches that a job sends to
        self.when: dict[tuple[str, str], float] = {}  # when a content came to a cache
        self._seconds, self._measured = 1.0, ASSUMED_RATE  # what is assumed counts as much as a second

    @property
    def rate(self) -> float:
        """Bytes/s, to each node."""
        return self._measured / self._seconds

    def came(self, cache: str, cut: Cut, since: float) -> int:
        """Note contents that came to a cache; return their bytes."""
        now, size = time.monotonic(), sum(each[-1] for each in cut)
        with self.lock:
            self.when |= {(cache, each[0]): now for each in cut}
            if size >= WORTH_MEASURING:
                self._seconds += now - since
                self._measured += size
        return size


@dataclass
class _Node:
    since: float  # when the first batch was handed out that told of it
    workers: set[str] = field(default_factory=set)
    lacking: dict[str, None] = field(default_factory=dict)  # contents, in their order
    cuts: Iterator[Cut] | None = None  # parcels that are left, when sending has begun
    out: tuple[Cut, float] | None = None  # the one that is under way, and since when


class Supplies:
    """The files that one job sends, from one thread."""

    def __init__(self, work: Work, sent: Sent, ask: Callable[[], Needs], say: Callable[[str], None]) -> None:
        # `ask` has the job list its needs, `say` prints a line to the user of the run.
        self.work = work  # with the name of its listing as soon as a node has asked for that
        self.bytes = 0  # that it has sent, and that came
        self._sent, self._ask, self._say = sent, ask, say
        self._sender = secrets.token_hex(8)
        self._needs: Needs | None = None
        self._sources: dict[str, tuple[Path | bytes, int]] = {}
        self._nodes: dict[str, _Node] = {}
        self._shared: dict[Cut, Any] = {}
        self._tries: Counter[tuple[str, str]] = Counter()
        self._losses: Counter[str] = Counter()
        self._from = math.inf  # when sending contents begins
        self._listed = math.inf  # since when the name of the listing is known
        self._has_said = False

    @property
    def under_way(self) -> bool:
        return bool(self._nodes)

    def waiting(self) -> set[str]:
        """Return the workers whose nodes wait for files."""
        return {worker for node in self._nodes.values() for worker in node.workers}

    def workers_of(self, cache: str) -> set[str]:
        return self._nodes[cache].workers if cache in self._nodes else set()

    def lacks(self, reply: Reply, since: float) -> None:
        """Note the contents that a worker's node lacked when it got the batch handed out at `since`."""
        assert reply.missing is not None
        cache, contents = reply.missing
        if self._needs is None:
            self._needs = self._ask()
            listing = self._needs["listing"]
            listed = blake3(listing).hexdigest()
            self._sources = {**self._needs["sources"], listed: (listing, len(listing))}
            self.work = self.work._replace(listed=listed)
            self._listed = time.monotonic()
        if not contents:  # it has not known what the listing is called, and may have it
            if since > self._listed:
                self._check(cache, self.work.listed)
                self._tries[cache, self.work.listed] += 1
            return
        node = self._nodes.setdefault(cache, _Node(since))
        node.since = min(node.since, since)
        node.workers.add(reply.worker)
        if node.cuts is None:
            node.lacking |= dict.fromkeys(contents)
        if self._from == math.inf and contents != [self.work.listed]:
            self._from = time.monotonic() + GATHER

    def parcels(self, share: Callable[[Parcel, set[str]], Any]) -> Iterator[tuple[str, set[str], Any]]:
        """Give the next parcel of each node, put into the library by `share`; call `came` for each."""
        for cache, node in [*self._nodes.items()]:
            if node.out or (node.cuts is None and not self._begins(cache, node)):
                continue
            assert node.cuts is not None
            if (cut := next(node.cuts, None)) is None:
                self._tries.update((cache, content) for content in node.lacking)
                self._drop(cache)
                continue
            node.out = cut, time.monotonic()
            if cut not in self._shared:
                read = [_read(self._sources[content][0], start, taken) for content, _, start, taken in cut]
                pieces = [Piece(*each[:3], data) for each, data in zip(cut, read)]
                self._shared[cut] = share(Parcel(self._sender, pieces), node.workers)
                for old in [*self._shared][:-SHARED]:
                    del self._shared[old]
            yield cache, node.workers, self._shared[cut]

    def came(self, cache: str, answer: tuple[str, str] | None) -> None:
        node = self._nodes[cache]
        assert node.out is not None
        (cut, since), node.out = node.out, None
        name, wrong = answer or ("", "")
        if name != cache or wrong.endswith(GAP):  # it asks again, if it is still there
            self._drop(cache)
            self._shared.clear()
            self._losses[cache] += 1
            if self._losses[cache] > LOSSES:
                problem = "a node of the cluster is lost whenever it is sent something"
                found = f"{LOSSES} times"
                raise TransientError(problem, found=found, hint=f"see the log of its worker; {AGAIN}")
            return
        if wrong.endswith(DAMAGED):
            raise _other(self._sources[wrong.partition(" ")[0]][0])
        if wrong:
            needed = sum(each for _, each in self._sources.values())
            hint = f"see that it has room for {needed:,} bytes; {AGAIN}"
            raise TransientError("a node of the cluster cannot keep what it is sent", found=wrong, hint=hint)
        self.bytes += self._sent.came(cache, cut, since)

    def close(self) -> None:
        """Leave the rest to other jobs, because this job has ended."""
        for cache in [*self._nodes]:
            self._drop(cache)

    def _begins(self, cache: str, node: _Node) -> bool:
        """Start sending to a node; False if it must wait, or lacks nothing any more."""
        is_listing = [*node.lacking] == [self.work.listed]
        if not is_listing and time.monotonic() < self._from:
            return False
        with self._sent.lock:
            if cache in self._sent.busy:
                return False
            when = self._sent.when
            node.lacking = {each: None for each in node.lacking if when.get((cache, each), 0.0) < node.since}
            if node.lacking:
                self._sent.busy.add(cache)
        if not node.lacking:
            del self._nodes[cache]
            return False
        if not is_listing and not self._has_said:
            self._has_said = True
            self._say_what_it_costs()
        node.cuts = self._cuts([*node.lacking])
        for content in node.lacking:
            self._check(cache, content)
        return True

    def _drop(self, cache: str) -> None:
        if self._nodes.pop(cache).cuts is not None:
            with self._sent.lock:
                self._sent.busy.discard(cache)
        if not self._nodes:
            self._shared.clear()

    def _check(self, cache: str, content: str) -> None:
        if self._tries[cache, content] >= TRIES:
            source = self._sources[content][0]
            problem = "a node of the cluster does not keep what it is sent"
            file = source if isinstance(source, Path) else None
            hint = f"see that the node has room for it; {AGAIN}"
            raise TransientError(problem, file=file, found=f"it was sent {TRIES} times", hint=hint)

    def _say_what_it_costs(self) -> None:
        """Report if sending takes longer than the computing that it saves."""
        assert self._needs is not None
        nodes = [node for node in self._nodes.values() if node.cuts is None]
        sizes = [sum(self._sources[content][1] for content in node.lacking) for node in nodes]
        size, expected, here = sum(sizes), max(sizes) / self._sent.rate, self._needs["seconds"]
        if here is not None and expected > here:
            amount = f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
            self._say(
                f"{self._needs['what']}: sending what it needs to {counted(len(nodes), 'node')}, {amount} in "
                f"all, takes about {duration(expected)}; computing it on this machine took {duration(here)}"
            )

    def _cuts(self, contents: Iterable[str]) -> Iterator[Cut]:
        """Cut contents into parcels, the same for all nodes that lack the same."""
        pieces: list[tuple[str, int, int, int]] = []
        room = PARCEL
        for content in contents:
            start, size = 0, self._sources[content][1]
            while True:
                taken = min(room, size - start)
                pieces.append((content, size, start, taken))
                start, room = start + taken, room - taken
                if not room:
                    yield tuple(pieces)
                    pieces, room = [], PARCEL
                if start == size:
                    break
        if pieces:
            yield tuple(pieces)


def _read(source: Path | bytes, start: int, size: int) -> bytes:
    if isinstance(source, bytes):
        return source[start : start + size]
    try:
        with source.open("rb") as stream:
            stream.seek(start)
            data = stream.read(size)
    except OSError as error:
        problem = f"a file that a job needs cannot be read ({error.strerror})"
        raise TransientError(problem, file=source, hint="run again") from None
    if len(data) != size:
        raise _other(source)
    return data


def _other(source: Path | bytes) -> TransientError:
    folders = source.parents if isinstance(source, Path) else []
    said, hint = "a file changed while a run went on", "run again"
    if any((folder / MANIFEST).is_file() and (folder / SETUP).is_file() for folder in folders):
        said = "a file of a job is not what the job left there"
        hint = "`shortloop verify --set-aside`, then run again: the job is built again"
    return TransientError(said, file=source, hint=hint)
