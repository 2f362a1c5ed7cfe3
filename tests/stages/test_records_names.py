"""What a stage leaves has names in its job's folder that nobody else uses."""

from __future__ import annotations

import pytest

from shortloop.stages.records import check_array_name, check_file_name

ELSEWHERE = ["", ".", "..", "../a", "a/../../b", "/a", "a/", "a//b", "./a", ".hidden", "a/.hidden", "a\0b"]
OF_OTHERS = ["record.json", "manifest.json", "setup.json", "post.json", "method.tar.gz", "a.npy", "OUTPUT/a"]


@pytest.mark.parametrize("name", ["a.txt", "a/b/c.svg", "a b", "ü.txt", "a/record.json", "a/b.npy", "a..b"])
def test_files_below_the_folder(name: str) -> None:
    check_file_name(name)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_files_elsewhere(name: str) -> None:
    with pytest.raises(ValueError, match="must be below"):
        check_file_name(name)


@pytest.mark.parametrize("name", OF_OTHERS)
def test_files_of_others(name: str) -> None:
    with pytest.raises(ValueError, match="that of another"):
        check_file_name(name)


@pytest.mark.parametrize("name", ["", ".a", "a/b", "../a", "a\0"])
def test_names_that_no_array_can_have(name: str) -> None:
    with pytest.raises(ValueError, match="an array cannot have"):
        check_array_name(name)


@pytest.mark.parametrize("name", ["a", "a b", "a.b", "ü", "record"])
def test_names_of_arrays(name: str) -> None:
    check_array_name(name)
