"""Parameters that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Text = str | None
WHICH = "Build script, named as for `ax run`; default: build_pipeline, or the project's only script."
OWN_FILE = "Settings file; default: $SHORTLOOP_SETTINGS, or the script's own file."
Script = Annotated[Text, Argument(help=WHICH)]
SettingsFile = Annotated[Path | None, Option("--settings", readable=False, help=OWN_FILE)]
SettingsName = Annotated[Text, Option("--settings", help="Only jobs for the settings with this name.")]
Until = Annotated[Text, Option(metavar="STAGE", help="Run only this stage and the stages it depends on.")]
Only = Annotated[Text, Option(metavar="STAGE", help="Run only this stage; its inputs must be up to date.")]
Partition = Annotated[Text, Option(help="With --until or --only: run only this partition of the stage.")]
Force = Annotated[
    list[str] | None, Option(metavar="JOB", help="Rebuild this job or stage even if cached. Repeatable.")
]
Named = Annotated[list[str] | None, Option(hidden=True)]
"""Flags --NAME of analyses, which `shortloop.cli.entry` adds to the command."""
Json = Annotated[
    bool, Option("--json", help="Print one JSON document instead of text; docs/json.md lists its fields.")
]
Data = Annotated[
    Path | None,
    Option(
        "--data", metavar="FOLDER", readable=False, help="Inspect this data and write a settings file for it."
    ),
]
Older = Annotated[Text, Option(help="Only jobs at least this old, e.g. 12h, 30d or 2w.")]
Delete = Annotated[bool, Option("--delete", help="Delete the jobs instead of only counting them.")]
Forget = Annotated[
    Text, Option(metavar="NAME", help="Also delete jobs needed only by these settings' latest run.")
]
SetAside = Annotated[bool, Option("--set-aside", help="Take damaged jobs out of use, keeping their files.")]
FitsInto = Annotated[
    Text, Option("--to", help="Delete only until all remaining jobs fit in this size, e.g. 20GB.")
]
Collect = Annotated[bool, Option("--gc", help="Delete jobs there, oldest first; needs --older or --to.")]
TakeOver = Annotated[
    bool, Option("--take-over", help="Replace the results of another settings file with the same name.")
]
FailFast = Annotated[
    bool,
    Option(
        "--fail-fast/--keep-going",
        help="After a failure, start no further jobs, or all jobs that do not depend on it.",
    ),
]
Vary = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="FIELD=VALUE,VALUE…",
        help="A field and its values as TOML; text needs no quotes. Repeatable: runs every combination.",
    ),
]
Together = Annotated[
    list[str] | None,
    Option(
        "--zip",
        metavar="FIELD=VALUE,VALUE…",
        help="Like --set, but fields vary together: all first values, then all second values, and so on.",
    ),
]
SettingsTo = Annotated[
    Path | None, Option("--settings-to", metavar="FILE", help="Write the run's settings to a new file.")
]
Timeline = Annotated[
    Path | None,
    Option(help="Draw what ran when: FILE.svg, .png or .pdf; FILE.json for Perfetto or chrome://tracing."),
]
ByPartition = Annotated[bool, Option("--partitions", help="A node for each partition of a stage.")]
NewFolder = Annotated[
    Path, Argument(help="Folder to create, e.g. my-analysis; its name becomes the project's name.")
]
SweepScript = Annotated[
    Text, Option(help="Build script, named as for `ax run`; default: the script for this kind of file.")
]
Picture = Annotated[
    Path | None, Option("--output", "-o", help="Write a picture, FILE.svg, or FILE.mmd for Mermaid.")
]
ComparedFigure = Annotated[
    Path | None, Option(help="File to write the figure to; default: in compare/ in the results folder.")
]
Reason = Annotated[str, Argument(help="Reason why the change cannot affect results; recorded with the jobs.")]
