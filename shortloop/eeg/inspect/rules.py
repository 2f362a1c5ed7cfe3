"""Words in names of recordings and of events: one table of rules for each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple


class Rule(NamedTuple):
    """The meaning of words, a regular expression that they match in lower case, and an example."""

    meaning: str
    pattern: str
    example: str


# Words of a path. A number is joined with the word before it: sub-01.
NAME_RULES = (
    Rule("participant", r"(s|ss|su|sub|subj|subjects?|pp|pat|patient|part|participants?)-?[0-9]+", "sub-01"),
    Rule("participant", r"(ppt|vpn?|proband|probandin|id|suj|sujet|pers|person)-?[0-9]+", "VP07"),
    Rule("participant", r"p-[0-9]+|(?!p(1|2|300|600)$)p[0-9]+", "P12"),  # not those of the ERP, as P300
    Rule("run", r"(sess?|sessions?|sitzung|runs?|blocks?|blk|day|tag|visit|rec|recording|part|split)", "run"),
    Rule("run", r"(sess?|sessions?|sitzung|runs?|blocks?|blk|day|tag|visit)-?[0-9]+", "ses-2"),
    Rule("run", r"([rbv]|rec|recording|part|split)-?[0-9]+", "R03"),
    Rule("date", r"(.*-)?([0-9]{6}|[0-9]{8}|[0-9]{12}|[0-9]{14}|(19|20)[0-9]{2})", "20190112"),
    Rule("version", r"acq|proc|desc|version", "acq"),  # its number tells versions of a recording apart
    Rule("group", r"controls?|ctrl|patients?|hc|healthy|group|kontrollen?|patienten|young|old", "control"),
    Rule("training", r"train|training|trn|study|encoding|encode|enc|learn|learning|lernen", "study"),
    Rule("training", r"locali[sz]er|loc|perception|perceived|executed|execution|viewing", "localizer"),
    Rule("training", r"calibration|acquisition|exposure|enkodierung", "calibration"),
    Rule("decoded", r"test|testing|tst|retrieval|retrieve|ret|recall|recognition|recog|abruf", "retrieval"),
    Rule("decoded", r"imagery|imagined|imagination|decode|eval|evaluation|probe|online", "imagery"),
    Rule("decoded", r"feedback|delay|replay|sleep", "replay"),
    Rule("phase", r"rest|resting|baseline|practice|oddball|task|memory|pre|post", "oddball"),
    Rule("amplitude", r"amp|amplitudes?|erps?|voltage", "erp"),
    Rule("power", r"pow|powers?|tfr|freq|frequency|wavelets?|spectral", "tfr"),
    Rule("array", r"x|y|features?|feats?|data|labels?|class|classes|targets?", "labels"),
)
# Words in the name of an event; those of phases are the same as above.
EVENT_RULES = (
    Rule("no class", r"bad|edge|boundary|segment|comment|sync|syncstatus|impedance|experiment", "boundary"),
    Rule("no class", r"responses?|resp|button|buttonpress|keypress|fixation|fix|blink|saccade", "response"),
    Rule("no class", r"instructions?|iti|isi", "instruction"),
    Rule("perhaps no class", r"press|key|answer|correct|incorrect|cross|start|stop|end|begin", "correct"),
    Rule("perhaps no class", r"pause|break|feedback|instr|baseline|trial|epoch", "pause"),
    Rule("kind", r"stimulus|stimuli|stim|trial|event|target|picture|image", "stimulus"),
    Rule("start", r"starts?|started|begins?|began|beginning|onset|on", "begins"),
    Rule("stop", r"ends?|ended|stops?|stopped|finish|finished|offset|off", "ends"),
    Rule("filler", r"of|the|phase|block|part|section|task|trials|experiment", "block"),
)
PHASES = frozenset({"training", "decoded", "phase"})
WORD = re.compile(r"[^\W\d_]+")


@cache
def name_means(text: str, before: str = "") -> frozenset[str]:
    """Return the meanings of a word in a path; `before` is the word before a number."""
    return _meanings(NAME_RULES, f"{before}-{text}" if before and text.isdigit() else text)


@cache
def event_means(word: str) -> frozenset[str]:
    """Return the meanings of a word in the name of an event."""
    return _meanings(EVENT_RULES, word) | (_meanings(NAME_RULES, word) & {"training", "decoded"})


def _meanings(rules: Iterable[Rule], text: str) -> frozenset[str]:
    return frozenset(rule.meaning for rule in rules if re.fullmatch(rule.pattern, text.casefold()))


def with_role(phases: Iterable[str], role: str) -> list[str]:
    """List the phases with a word of a role, training or decoded, in their names."""
    return [phase for phase in phases if any(role in name_means(word) for word in re.split(r"[-\d]+", phase))]


def has_meaning(event: str, meanings: Iterable[str]) -> bool:
    """True if a word in the name of an event has one of these meanings."""
    return any(not event_means(word).isdisjoint(meanings) for word in WORD.findall(event))


def are_kinds(names: Iterable[str]) -> bool:
    """True if all names but one at most name a kind of event, such as stimulus or response."""
    return sum(not has_meaning(name, {"no class", "kind"}) for name in names) < 2


def as_name(text: str, default: str = "") -> str:
    """Return a text as a name that a study file may have."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss")).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.+-]+", "", plain).lstrip("_.+-") or default
