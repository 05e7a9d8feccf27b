"""The meaning of a query in plain Python, over documents as they are on the wire: what both databases must answer."""

import re

from memadmin.api.opensearch.querying.globs import lowered, matches
from memadmin.api.opensearch.querying.moments import read
from memadmin.api.opensearch.querying.queries import Bool, Exists, Ids, Like, Match, MatchAll, Range, Terms, Wild, as_text, needed
from memadmin.store.words import is_dense, words_of

TEXTS = {"summary", "memory", "error", "messages.content", "name", "description"}
TIMES = {"created_time", "last_updated_time"}
NUMBERS = {"message_id", "namespace_size"}
FLAGS = {"pinned", "infer"}
COMPARE = {"gte": lambda a, b: a >= b, "gt": lambda a, b: a > b, "lte": lambda a, b: a <= b, "lt": lambda a, b: a < b}


def nodes_of(document, field):
    """All values under a dotted name: as nested keys or as keys with dots, through lists."""
    if field == "":
        return [document]
    found = []
    for key, value in document.items() if isinstance(document, dict) else []:
        if field == key or field.startswith(f"{key}."):
            for one in value if isinstance(value, list) else [value]:
                found += nodes_of(one, field[len(key) + 1 :])
    return found


def values_of(document, field):
    nodes = nodes_of(document, field)
    return [leaf for node in nodes for leaf in all_below(node)] if field in OBJECTS else nodes


OBJECTS = {"metadata", "tags", "namespace", "structured_data", "agents"}


def all_below(value):
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in all_below(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in all_below(one)]
    return [value]


def texts_of(document, field):
    if field == "messages.content":
        texts = [part.get("text") for message in document.get("messages", []) for part in message["content"]]
        return [text for text in texts if isinstance(text, str) and text.strip("\n")]
    return [document[field]] if document.get(field) else []


def holds(clause, document):
    if isinstance(clause, MatchAll):
        return True
    if isinstance(clause, Ids):
        return document["_id"] in clause.values
    if isinstance(clause, Bool):
        optional = sum(holds(inner, document) for inner in clause.should)
        return (
            all(holds(inner, document) for inner in (*clause.must, *clause.filter))
            and not any(holds(inner, document) for inner in clause.must_not)
            and optional >= clause.should_needed
        )
    if clause.field in TEXTS:
        return any(text_holds(clause, text) for text in texts_of(document, clause.field))
    if clause.field in FLAGS:
        value = document.get(clause.field, False)
        return clause.field in document if isinstance(clause, Exists) else as_text(value) in {as_text(one) for one in asked(clause)}
    if isinstance(clause, Exists):
        return any(leaf is not None for node in nodes_of(document, clause.field) for leaf in all_below(node))
    found = [value for value in values_of(document, clause.field) if value is not None and not isinstance(value, dict | list)]
    return any(value_holds(clause, value) for value in found)


def asked(clause):
    return clause.values if isinstance(clause, Terms) else [clause.value]


def text_holds(clause, text):
    words = words_of(text)
    match clause:
        case Exists():
            return True
        case Terms():
            return any(as_text(value) in words for value in clause.values)
        case Match():
            wanted = words_of(as_text(clause.value))
            return bool(wanted) and sum(word in words for word in wanted) >= max(needed(clause.at_least, len(wanted)), 1)
        case Like():
            glob = tuple(lowered(one) if clause.any_case and isinstance(one, str) else one for one in clause.glob)
            return any(matches(glob, word) for word in words if not is_dense(word[0]))
    raise AssertionError(clause)


def value_holds(clause, value):
    convert = read if clause.field in TIMES else float if clause.field in NUMBERS else as_text
    if isinstance(clause, Range):
        bounds = {name: getattr(clause, name) for name in COMPARE if getattr(clause, name) is not None}
        return all(COMPARE[name](convert(value), convert(bound)) for name, bound in bounds.items())
    if isinstance(clause, Like):
        text = lowered(as_text(value)) if clause.any_case else as_text(value)
        pattern = "".join(
            {Wild.ANY: ".*", Wild.ONE: "."}[one] if isinstance(one, Wild) else re.escape(lowered(one) if clause.any_case else one)
            for one in clause.glob
        )
        return re.fullmatch(pattern, text, re.DOTALL) is not None
    return convert(value) in {convert(one) for one in asked(clause)}


def score(clause, document):
    if isinstance(clause, Bool):
        if not clause.must and not clause.should:
            return clause.boost
        parts = [score(inner, document) for inner in clause.must]
        parts += [score(inner, document) for inner in clause.should if holds(inner, document)]
        return sum(parts) * clause.boost
    if isinstance(clause, Match) and clause.field in TEXTS:
        wanted = words_of(as_text(clause.value))
        found = {word for text in texts_of(document, clause.field) for word in words_of(text)}
        return sum(word in found for word in wanted) * clause.boost
    return clause.boost
