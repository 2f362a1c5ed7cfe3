"""What a Ray on this machine goes by from its import on, so that it is for this user alone."""

from __future__ import annotations

import os
import secrets

__all__ = ["close_off"]


def close_off() -> None:
    """Let Ray, which must not be imported yet, listen on 127.0.0.1 alone and ask for a token."""
    os.environ.pop("RAY_AUTH_TOKEN_PATH", None)
    os.environ |= {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # Unless it is off, Ray listens where other nodes could reach it.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
