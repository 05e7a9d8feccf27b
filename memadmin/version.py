"""Which version of the program this is, from the one place where it is written."""

import tomllib
from pathlib import Path

VERSION: str = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf8"))["project"]["version"]
