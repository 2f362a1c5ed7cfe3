"""The process of an engine on joblib ends without waiting for units that are being computed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from source_tree import ROOT

ENDED = """
import sys, threading, time
from pathlib import Path
import joblib
from shortloop.engines.joblib_engine import JoblibEngine
from shortloop.settings.engine import EngineSettings

begun = Path(sys.argv[1])


def unit(number):
    (begun / str(number)).touch()
    time.sleep(60)


def job():
    tasks = (joblib.delayed(unit)(number) for number in range(100))
    list(joblib.Parallel(2, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")(tasks))


engine = JoblibEngine(EngineSettings(name="joblib"), 2)
threading.excepthook = lambda given: None  # of jobs whose workers end
for _ in range(2):
    threading.Thread(target=job, daemon=True).start()
while not any(begun.iterdir()):
    time.sleep(0.01)
since = time.monotonic()
engine.close()
print(time.monotonic() - since)
"""


def test_it_waits_for_no_unit(tmp_path: Path) -> None:
    file, begun = tmp_path / "ended.py", tmp_path / "begun"
    begun.mkdir()
    file.write_text(ENDED, encoding="utf-8")
    command = [sys.executable, str(file), str(begun)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert float(done.stdout) < 30, done.stderr
