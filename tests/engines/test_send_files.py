"""Nodes are sent what they lack, each content once, whoever asks; what that costs is said before, if it is
more than the computing that it saves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from blake3 import blake3

from shortloop.base.errors import TransientError
from shortloop.engines import send_files
from shortloop.engines.send_files import Sent, Supplies
from shortloop.units.messages import Missing, Needs, Parcel, Reply, Work
from shortloop.units.node_cache import NodeCache


def hash_of(data: bytes) -> str:
    return blake3(data).hexdigest()


def same(parcel: Parcel, workers: set[str]) -> Parcel:
    """A library that hands parcels on."""
    return parcel


class Cluster:
    """Nodes, each with a folder, and a job that needs files; what is sent goes into the folders."""

    def __init__(self, folder: Path, sizes: tuple[int, ...] = (1000, 70_000, 0, 5), nodes: int = 2) -> None:
        self.folder = folder
        self.sent = Sent()
        self.sources: dict[str, tuple[Path | bytes, int]] = {}
        for number, size in enumerate(sizes):
            data = bytes([number + 65]) * size
            (folder / f"file{number}").write_bytes(data)
            self.sources[hash_of(data)] = folder / f"file{number}", size
        self.caches = [NodeCache(folder / f"node{number}", 1e9) for number in range(nodes)]
        self.bytes = 0
        self.said: list[str] = []

    def job(self, seconds: float | None = None) -> Supplies:
        needs: Needs = {"what": "fit A", "listing": b"[]", "sources": self.sources, "seconds": seconds}
        return Supplies(Work("job", b""), self.sent, lambda: needs, self.said.append)

    def ask(self, job: Supplies, node: int, worker: str = "w", since: float | None = None) -> bool:
        """A batch comes to a worker; whether its node lacks something."""
        cache = self.caches[node]
        if job.work.listed:
            sizes = {job.work.listed: 2} | {content: size for content, (_, size) in self.sources.items()}
            lacking = cache.lacking(sizes)
        else:
            lacking = []
        if job.work.listed and not lacking:
            return False
        reply = Reply(0.0, b"", missing=Missing(cache.name, lacking), worker=worker)
        job.lacks(reply, time.monotonic() if since is None else since)
        return True

    def asking(self) -> Supplies:
        """A job that lacks the listing, and then what it lists."""
        job = self.job()
        self.ask(job, 0)
        self.ask(job, 0)
        return job

    def two_under_way(self) -> tuple[Supplies, Supplies]:
        """Jobs that lack the same, of which some was sent for the first."""
        first, second = self.job(), self.job()
        for _ in range(2):
            self.ask(first, 0)
            self.ask(second, 0)
        time.sleep(0.02)
        self.deliver(first, most=2)
        return first, second

    def deliver(self, job: Supplies, most: int = 1000) -> None:
        """Send until nothing is under way, or so many parcels."""
        by_name = {each.name: each for each in self.caches}
        while job.under_way and most:
            for cache, _, parcel in job.parcels(same):
                self.bytes += sum(len(each.data) for each in parcel.pieces)
                job.came(cache, (cache, by_name[cache].put(parcel.pieces, parcel.sender)))
                most -= 1

    def size(self) -> int:
        return 2 + sum(size for _, size in self.sources.values())

    def contents(self, node: int) -> Path:
        return self.caches[node]._folder / "contents"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send_files, "PARCEL", 10_000)
    monkeypatch.setattr(send_files, "GATHER", 0.01)


def test_each_content_goes_once_to_each_node(cluster: Cluster) -> None:
    job = cluster.job()
    for worker in ("a", "b", "c"):  # of two nodes; they ask before anything came
        assert cluster.ask(job, 0, worker)
        assert cluster.ask(job, 1, f"{worker}1")
    for worker in ("a", "b", "c"):
        assert cluster.ask(job, 0, worker)
        assert cluster.ask(job, 1, f"{worker}1")
    assert job.waiting() == {"a", "b", "c", "a1", "b1", "c1"}
    cluster.deliver(job)
    assert not job.waiting()
    assert not cluster.ask(job, 0)
    assert not cluster.ask(job, 1)
    assert cluster.bytes == job.bytes == 2 * cluster.size()
    later = cluster.job()
    cluster.ask(later, 0)
    assert not cluster.ask(later, 0)
    assert cluster.bytes == 2 * cluster.size()


def test_what_two_nodes_lack_is_shared_once(tmp_path: Path) -> None:
    """A node that comes when all is sent has it shared again."""
    cluster = Cluster(tmp_path, nodes=3)
    job = cluster.job()
    shared: list[Parcel] = []

    def share(parcel: Parcel, workers: set[str]) -> Parcel:
        shared.append(parcel)
        return parcel

    def sent_to(*nodes: int) -> int:
        for _ in range(2):
            for node in nodes:
                cluster.ask(job, node)
            time.sleep(0.02)
            while job.under_way:
                for cache, _, parcel in job.parcels(share):
                    (keeps,) = (each for each in cluster.caches if each.name == cache)
                    job.came(cache, (cache, keeps.put(parcel.pieces, parcel.sender)))
        return sum(len(each.data) for parcel in shared for each in parcel.pieces)

    cluster.ask(job, 0)
    cluster.ask(job, 1)
    assert sent_to(0, 1) == cluster.size()
    cluster.ask(job, 2)
    assert sent_to(2) == 2 * cluster.size()
    assert job.bytes == 3 * cluster.size()
    assert not any(cluster.ask(job, node) for node in range(3))


def test_who_has_not_seen_yet_that_it_came_is_sent_nothing(cluster: Cluster) -> None:
    job = cluster.job()
    before = time.monotonic()
    cluster.ask(job, 0)
    cluster.ask(job, 0)
    lacking = [*cluster.sources, job.work.listed]
    cluster.deliver(job)
    job.lacks(Reply(0.0, b"", missing=Missing(cluster.caches[0].name, lacking), worker="late"), before)
    cluster.deliver(job)
    assert cluster.bytes == cluster.size()


@pytest.mark.parametrize("ends", [False, True])
def test_two_jobs_at_once_send_once(cluster: Cluster, ends: bool) -> None:
    """One that ends on the way leaves the rest to the other."""
    first, second = cluster.two_under_way()
    assert not [*second.parcels(same)]
    assert second.waiting()
    if ends:
        first.close()
        cluster.deliver(second)
        assert cluster.ask(second, 0)
    else:
        cluster.deliver(first)
    cluster.deliver(second)
    assert not cluster.ask(second, 0)
    assert ends or cluster.bytes == cluster.size()


def test_what_is_lost_is_sent_again_and_only_that(cluster: Cluster) -> None:
    """By a worker that ends meanwhile, or of a cache that is damaged."""
    job = cluster.asking()
    time.sleep(0.02)
    (cache, _, _), *_ = job.parcels(same)
    job.came(cache, None)
    assert not job.under_way
    cluster.ask(job, 0, "another")
    cluster.deliver(job)
    assert not cluster.ask(job, 0)
    before = cluster.bytes
    (file,) = cluster.contents(0).glob(f"*/{hash_of(b'A' * 1000)}")
    file.unlink()
    assert cluster.ask(job, 0)
    cluster.deliver(job)
    assert cluster.bytes == before + 1000


def test_a_node_that_keeps_nothing_is_named(cluster: Cluster) -> None:
    job = cluster.job()
    cluster.ask(job, 0)

    def ask_again() -> None:
        for _ in range(10):
            cluster.ask(job, 0)
            cluster.deliver(job)
            for each in cluster.contents(0).glob("*/*"):
                each.unlink()

    with pytest.raises(TransientError, match="does not keep what it is sent"):
        ask_again()


def test_a_node_without_room_is_named(cluster: Cluster) -> None:
    job = cluster.asking()
    time.sleep(0.02)
    (cache, _, _), *_ = job.parcels(same)
    with pytest.raises(TransientError, match="No space left"):
        job.came(cache, (cache, "No space left on device: x"))


def test_a_node_may_be_lost_often_but_not_for_ever(cluster: Cluster) -> None:
    job = cluster.asking()

    def lose() -> None:
        cluster.ask(job, 0)
        time.sleep(0.02)
        ((cache, _, _),) = job.parcels(same)
        job.came(cache, None)

    for _ in range(send_files.LOSSES):
        lose()
    with pytest.raises(TransientError, match="is lost whenever it is sent something"):
        lose()


def test_a_node_that_never_says_what_it_lacks_is_named(cluster: Cluster) -> None:
    job = cluster.job()
    before = time.monotonic()
    missing = Reply(0.0, b"", missing=Missing(cluster.caches[0].name, []), worker="w")
    for _ in range(10):
        job.lacks(missing, before)  # handed out before it was known what the listing is called
    for _ in range(3):
        job.lacks(missing, time.monotonic())
    with pytest.raises(TransientError, match="does not keep what it is sent"):
        job.lacks(missing, time.monotonic())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (70_000, "changed while a run went on"),
        (69_000, "changed while a run went on"),
        (None, "cannot be read"),
        ("of a job", "not what the job left there"),
    ],
)
def test_a_changing_file_stays(cluster: Cluster, tmp_path: Path, change: int | str | None, said: str) -> None:
    for name in ("setup.json", "manifest.json") if change == "of a job" else ():
        (tmp_path / name).touch()
    job = cluster.asking()
    if change is None:
        (tmp_path / "file1").unlink()
    else:
        (tmp_path / "file1").write_bytes(b"Z" * (change if isinstance(change, int) else 70_000))
    with pytest.raises(TransientError, match=said) as caught:
        cluster.deliver(job)
    assert "file1" in caught.value.message


@pytest.mark.parametrize(("seconds", "says"), [(1e-5, True), (1e5, False), (None, False)])
def test_what_it_costs_is_said_if_it_does_not_pay(tmp_path: Path, seconds: float | None, says: bool) -> None:
    cluster = Cluster(tmp_path, (12_500_000,))
    job = cluster.job(seconds)
    for _ in range(2):
        for node in (0, 1):
            cluster.ask(job, node)
    assert cluster.said == []
    cluster.deliver(job)
    assert len(cluster.said) == says
    if says:
        assert cluster.said == [
            "fit A: sending what it needs to 2 nodes, 25.0 MB in all, takes about 0.1 s; "
            "computing it on this machine took 0.0 s"
        ]  # to each at 100 MB/s, as nothing was sent before
