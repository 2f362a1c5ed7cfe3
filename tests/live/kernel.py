"""A kernel of Jupyter, as a notebook drives it: cells are run, interrupted, and what they say is read."""

from __future__ import annotations

import re
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.manager import start_new_kernel

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Kernel:
    """A kernel in a folder; a context manager."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.manager, self.client = start_new_kernel(cwd=str(folder), env=environment)

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)

    def start(self, code: str, cell: str = "") -> str:
        """Send a cell, and do not wait for it."""
        message = self.client.session.msg(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
            },
            metadata={"cellId": cell} if cell else {},
        )
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def finish(self, sent: str, seconds: float = 120) -> tuple[str, str]:
        """What a cell printed, with the value of its last line, and the error that ended it."""
        printed, error = "", ""
        while True:
            try:
                message: dict[str, Any] = self.client.get_iopub_msg(timeout=seconds)
            except Empty:
                raise AssertionError(f"never ended:\n{printed}") from None
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                printed += content["text"]
            elif kind == "execute_result":
                printed += content["data"]["text/plain"]
            elif kind == "error":
                error = COLOURS.sub("", "\n".join(content["traceback"]))
            elif kind == "status" and content["execution_state"] == "idle":
                return printed, error

    def wait_for_text(self, sent: str, text: str) -> None:
        """Wait until a cell has printed a text."""
        printed = ""
        while text not in printed:
            message: dict[str, Any] = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") == sent and message["msg_type"] == "stream":
                printed += message["content"]["text"]

    def run(self, code: str, cell: str = "") -> str:
        """Run a cell, which must work; what it printed."""
        printed, error = self.finish(self.start(code, cell))
        assert not error, error
        return printed

    def fails(self, code: str) -> str:
        """Run a cell, which must not work; the error."""
        printed, error = self.finish(self.start(code))
        assert error, printed
        return error
