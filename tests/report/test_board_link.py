"""The job of a figure on the board is the one that all others lead to."""

from __future__ import annotations

from shortloop.report.provenance import ADDRESS, ProvenanceRow, board_link, last_job


def row(*jobs: tuple[str, str]) -> ProvenanceRow:
    return ProvenanceRow("stage", list(jobs), [], [])


def test_it_is_the_last_that_is_for_all_of_the_data() -> None:
    train, group = row(("a", "main-1"), ("b", "main-2")), row(("", "main-3"))
    assert last_job([train, group]) == ("", "main-3")
    assert last_job([train, group, row(("a", "main-4"))]) == ("", "main-3")
    assert last_job([train, row(("a", "main-4"))]) == ("a", "main-4")
    assert last_job([]) == ("", "")


def test_it_says_where_it_leads_and_when() -> None:
    link = board_link("main-3")
    assert link.address == f"{ADDRESS}/job/main-3"
    assert "while they do" in link.text
