"""The machine in words that say what matters for speed, and nothing about whose it is."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.options import cores

FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "asimd", "sve")
LIBRARIES = ("accelerator", "distributed", "joblib", "mne", "numba", "numpy", "ray", "scikit-learn", "scipy")


def describe() -> dict[str, Any]:
    """Cores, instruction sets, caches, memory, and versions of what computes."""
    from threadpoolctl import threadpool_info

    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", _text("/proc/cpuinfo"), re.M)
    have = set(flags[1].split()) if flags else set()
    total = re.search(r"^MemTotal:\s*(\d+) kB", _text("/proc/meminfo"), re.M)
    return {
        "cores": cores(),
        "architecture": platform.machine(),
        "cpu_flags": [flag for flag in FLAGS if flag in have],
        "caches": _caches(),
        "memory_gb": round(int(total[1]) / 2**20, 1) if total else None,
        "load_1_min": os.getloadavg()[0],  # others at work show here
        "python": ".".join(map(str, sys.version_info[:3])),
        "versions": _versions(),
        "blas": [
            {"library": pool["internal_api"], "version": pool["version"], "threads": pool["num_threads"]}
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _caches() -> dict[str, str]:
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if _text(folder / "type").strip() != "Instruction":
            found[f"L{_text(folder / 'level').strip()}"] = _text(folder / "size").strip()
    return found


def _text(file: str | Path) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
