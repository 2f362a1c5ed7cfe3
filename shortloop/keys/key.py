"""The key of a job: a hash of everything that can change its result.

Which libraries a job loads is known only when it has run. So these are no part of the key, but are compared
with what is installed whenever a job with the key is looked up.

Jobs it is made from count by the content of what they left, not by their ids: one that was made again and
came out the same changes no key below it (early cut-off).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shortloop.base.plain import Plain
from shortloop.keys.code import code_state
from shortloop.keys.hashing import digest
from shortloop.keys.installed import differing, installed_now
from shortloop.keys.methods import find_method

Contents = str | list[str]  # content of an input, or of each of a list

IN_KEY = ("python", "accelerator")  # all other versions are compared with what is installed


@dataclass(frozen=True)
class Parts:
    """Readable parts of a key."""

    method: str  # the exax method with its package, e.g. ``"methods.train"``
    code: dict[str, str]  # hash of the normalised method, and of each own module that it can import
    versions: dict[str, str]  # of Python, of exax for datasets, and of all libraries that a built job loaded
    options: dict[str, Plain]
    inputs: dict[str, Contents]  # content of each job it is made from

    def key(self, without: str | None = None) -> str:
        """Compute the key, perhaps without one option."""
        options = {name: value for name, value in self.options.items() if name != without}
        return digest({**self._plain(options), "without": without})

    def _plain(self, options: Mapping[str, Plain]) -> dict[str, Plain]:
        versions = {name: each for name, each in self.versions.items() if name in IN_KEY}
        return {**vars(self), "options": with_order(options), "versions": versions}

    @property
    def libraries(self) -> dict[str, str]:
        return {name: each for name, each in self.versions.items() if name not in IN_KEY}

    @property
    def libraries_text(self) -> str:
        return json.dumps(self.libraries, sort_keys=True)

    @property
    def is_installed(self) -> bool:
        return not differing(self.libraries_text)

    def installed(self, libraries: Iterable[str]) -> Parts:
        return replace(self, versions={**self.versions, **installed_now(libraries)})

    def key_of_units(self, names: Collection[str]) -> str:
        """Key of what all units depend on, besides what each of them reads."""
        options = {name: value for name, value in self.options.items() if name in names}
        inputs = {name: content for name, content in self.inputs.items() if name in names}
        return digest(["units", {**self._plain(options), "inputs": inputs}])


def parts_of(
    method: str, options: Mapping[str, Plain], inputs: Mapping[str, Contents], modules: Sequence[str] = ()
) -> Parts:
    package, file = find_method(method)
    code = code_state(file, modules)
    plain = json.loads(json.dumps(dict(options)))  # tuples become lists, as they do in exax's own record
    return Parts(f"{package}.{method}", code.code, code.versions, plain, dict(inputs))


def with_order(options: Mapping[str, Plain]) -> dict[str, Plain]:
    """Encode options for a hash: the order of inner dicts counts, because the stage sees it."""
    return {name: json.dumps(value) for name, value in options.items()}
