"""Reads pages of reports, for tests."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from shortloop.report.page import ADDRESS


class Page(HTMLParser):
    """Collects what the tests ask for, and sees that every element is closed in its turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "br", "link", "input", "hr", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & {*self.open}:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.attributes if found == tag]


def check_needs_nothing_else(html: str) -> None:
    page = Page(html)
    assert html.startswith("<!DOCTYPE html>")
    for _, attributes in page.attributes:
        for name in ("src", "href", "srcset", "action"):
            value = attributes.get(name) or ""
            assert value == "" or value.startswith(
                ("data:image/png;base64,", "#", "figures/", "tables/", f"{ADDRESS}/job/main-")
            )
    assert not re.search(r"https?:|@import|url\(", re.sub(rf"base64,[^\"]+|<a href=\"{ADDRESS}", "", html))
    assert page.all("script") == [{}]  # its own
    assert page.all("link") == []


def places_linked(html: str) -> set[str]:
    """Ids that links of the page lead to: they are there, and every id is there once."""
    page = Page(html)
    ids = [attributes["id"] for _, attributes in page.attributes if "id" in attributes]
    assert len(ids) == len(set(ids))
    within = {str(link["href"])[1:] for link in page.all("a") if str(link["href"]).startswith("#")}
    assert within <= set(ids)
    return within
