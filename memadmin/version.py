"""Which version of the program this is, from the one place where it is written, and which revision of its source."""

import re
import tomllib
from pathlib import Path

_ROOT = Path(__file__).parents[1]
VERSION: str = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf8"))["project"]["version"]
_REVISION = re.compile(r"[0-9a-f]{40,64}")


def revision_of(root: Path) -> str:
    """Return the commit that is checked out in a folder, "" where that cannot be known: an installation need not have its history."""
    try:
        link = root / ".git"
        git = Path(link.read_text("utf8").partition("gitdir: ")[2].strip()) if link.is_file() else link
        head = (git / "HEAD").read_text("utf8").strip()
        name = head.removeprefix("ref: ")
        return head if _REVISION.fullmatch(head) else _branch(git, name)
    except (OSError, UnicodeError):
        return ""


def _branch(git: Path, name: str) -> str:
    common = git / (git / "commondir").read_text("utf8").strip() if (git / "commondir").exists() else git
    if (common / name).exists():
        return (common / name).read_text("utf8").strip()
    packed = (common / "packed-refs").read_text("utf8").splitlines() if (common / "packed-refs").exists() else []
    return next((line.partition(" ")[0] for line in packed if line.endswith(f" {name}")), "")


REVISION = revision_of(_ROOT)
