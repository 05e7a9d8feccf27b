"""The formats that can be imported, by the name that people give them."""

from __future__ import annotations

from collections.abc import Callable

from memadmin.transfer.importing import Reader
from memadmin.transfer.jsonl import JsonlReader
from memadmin.transfer.messages import MessagesReader
from memadmin.transfer.opensearch import OpenSearchReader
from memadmin.transfer.scratch import Scratch
from memadmin.transfer.targets import Target

READERS: dict[str, Callable[[Target, Scratch], Reader]] = {
    "jsonl": JsonlReader,
    "messages": MessagesReader,
    "opensearch": OpenSearchReader,
}
LATER = ("adk", "mem0", "letta", "chatgpt", "claude")
