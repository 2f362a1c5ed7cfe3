"""The same content gives the same bytes, in any process and at any time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import ROOT

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from report_synthetic import kind_result, report_content, write_report
write_report(report_content(kind_result(participants=2)), Path(sys.argv[2]))
"""


@pytest.mark.slow
def test_other_processes_write_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for seed, epoch in (("1", "0"), ("2", "1500000000")):
        out = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": epoch}
        command = [sys.executable, "-c", SCRIPT, str(ROOT / "tests/helpers"), str(out)]
        subprocess.run(command, check=True, env=environment, cwd=ROOT)
        files = sorted(path for path in out.rglob("*") if path.is_file())
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert digests[0] == digests[1]
    assert len(digests[0]) == 1 + 3 * 4
