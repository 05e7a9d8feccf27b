"""Which browser the browser tests drive, and how it is started."""

import os
import shutil
import subprocess
from pathlib import Path

NAMES = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]
HOW_TO_GET_ONE = "no Chromium or Chrome found: install one (Debian: apt-get install chromium) or set MEMADMIN_CHROME to its path"
_QUIET = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class NoSuchBrowser(Exception):
    """MEMADMIN_CHROME names a file that is not there."""


def find_browser() -> str | None:
    """Return the path of the browser, or None where the machine has none."""
    wished = os.environ.get("MEMADMIN_CHROME")
    if wished and not shutil.which(wished):
        raise NoSuchBrowser(f"MEMADMIN_CHROME={wished} is not a program on this machine")
    return next((path for name in [wished, *NAMES] if name and (path := shutil.which(name))), None)


def describe_browser() -> str:
    """Return path and version for the header of the test run."""
    path = find_browser()
    if path is None:
        return HOW_TO_GET_ONE
    version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout.strip()
    return f"{version or 'version unknown'} ({Path(path)})"


def flags() -> list[str]:
    return [*_QUIET, "--no-sandbox"] if os.geteuid() == 0 else _QUIET  # Chromium's sandbox refuses to start as root
