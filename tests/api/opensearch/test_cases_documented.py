"""The table of docs/api-cases.md and the tests name the same behaviours. Run this file as a module to write the table anew."""

import re
from collections.abc import Iterator

from tests import sources

TABLE = sources.ROOT / "docs" / "api-cases.md"
OF_THE_JOB = "gh"  # the letters of the retention job and of the orphans
PLACES = {  # other lists have numbers like these too
    "api/opensearch/**/test_*.py": "abcdefij",
    "access/test_*.py": "abcdefij",
    "lifecycle/test_writing.py": "abcdefij",
    "lifecycle/**/test_*.py": OF_THE_JOB,
}
GROUPS = {
    "A": "Containers",
    "B": "Sessions",
    "C": "Adding memories",
    "D": "Reading, changing, deleting and searching memories",
    "E": "Policies",
    "F": "Settings",
    "G": "The retention job",
    "H": "Orphans",
    "I": "Dry run and execute",
    "J": "Access",
}
Row = tuple[str, str, str]  # the number, what holds, the file of the test

_NUMBERED = re.compile(r"^def test_((?:[a-j][0-9]+_(?:and_|to_)?)+)(\w+)\(", re.MULTILINE)
_NUMBERS = re.compile(r"([a-j])([0-9]+)_(?:to_[a-j]([0-9]+)_)?")
_ROW = re.compile(r"\| ([A-J][0-9]+) \| ([^|]+) \| `([^`]+)` \|")


def numbered() -> Iterator[Row]:
    for path, letters in sorted((path, letters) for place, letters in PLACES.items() for path in (sources.ROOT / "tests").glob(place)):
        for numbers, words in _NUMBERED.findall(path.read_text("utf8")):
            for letter, first, last in _NUMBERS.findall(numbers if numbers[0] in letters else ""):
                for number in range(int(first), int(last or first) + 1):
                    yield f"{letter.upper()}{number}", words.replace("_", " "), path.relative_to(sources.ROOT).as_posix()


def in_order(rows: Iterator[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row[0][0], int(row[0][1:]), row[1:]))


def test_every_behaviour_of_the_table_has_its_test_and_every_numbered_test_its_row():
    assert _ROW.findall(TABLE.read_text("utf8")) == in_order(numbered())


def test_no_number_between_the_first_and_the_last_was_lost_with_its_test():
    """What OpenSearch does, as 190 numbered behaviours."""
    assert len({number for number, *_ in _ROW.findall(TABLE.read_text("utf8"))}) >= 190


if __name__ == "__main__":
    head = TABLE.read_text("utf8").partition("\n## ")[0].rstrip()
    parts = [head]
    for group, title in GROUPS.items():
        lines = [f"| {number} | {words} | `{path}` |" for number, words, path in in_order(numbered()) if number[0] == group]
        parts.append("\n".join([f"## {title}", "", "| no. | what holds | test |", "|---|---|---|", *lines]))
    TABLE.write_text("\n\n".join(parts) + "\n", "utf8")
