import pytest

from memadmin.api.opensearch.querying.projection import project
from memadmin.api.opensearch.querying.queries import SourceFilter

DOCUMENT = {"memory": "tea", "tags": {"a": 1, "b": {"c": 2}}, "messages": [{"role": "user", "content": [{"text": "hi"}]}], "pinned": True}


@pytest.mark.parametrize(
    ("includes", "excludes", "seen"),
    [
        ([], [], DOCUMENT),
        (["memory"], [], {"memory": "tea"}),
        (["tags"], [], {"tags": DOCUMENT["tags"]}),
        (["tags.b"], [], {"tags": {"b": {"c": 2}}}),
        (["tags.*"], ["tags.a"], {"tags": {"b": {"c": 2}}}),
        (["m*"], [], {"memory": "tea", "messages": DOCUMENT["messages"]}),
        (["messages.role"], [], {"messages": [{"role": "user"}]}),
        ([], ["messages", "tags.b"], {"memory": "tea", "tags": {"a": 1}, "pinned": True}),
        (["nobody"], [], {}),
        (["*"], ["*"], {}),
    ],
)
def test_only_the_wanted_parts_are_seen(includes, excludes, seen):
    assert project(DOCUMENT, SourceFilter(includes=includes, excludes=excludes)) == seen
