import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "retention").glob("*.py"))

LIST_NEW_MODULES = """
import sys
before = set(sys.modules)
import {modules}
print(*{{name.split(".")[0] for name in set(sys.modules) - before}})
"""


def test_a21_a30_importing_every_module_loads_nothing_but_the_standard_library():
    modules = ", ".join(f"retention.{source.stem}" for source in SOURCES if source.stem != "__init__")

    done = subprocess.run(
        [sys.executable, "-c", LIST_NEW_MODULES.format(modules=modules)], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) - set(sys.stdlib_module_names) == {"retention"}


def test_a30_no_module_reads_a_clock_or_a_file():
    reads = re.compile(r"\b(now|today|utcnow|monotonic|open|read_text|print)\(")

    found = [(source.name, line) for source in SOURCES for line in source.read_text().splitlines() if reads.search(line)]

    assert found == []
