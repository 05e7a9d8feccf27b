import pytest

from memadmin.recall import nearness
from memadmin.recall.nearness import TooMany, nearest
from memadmin.store import embeddings
from memadmin.store.models import LongTermMemory
from tests.factories import a_memory, make_container, store

pytestmark = pytest.mark.django_db
VECTORS = {"east": [1.0, 0.0], "north-east": [3.0, 3.0], "north": [0.0, 2.0], "west": [-1.0, 0.0]}


def remembered(**vectors: list[float]) -> None:
    store(make_container(), *(a_memory(text) for text in vectors))
    for text, vector in vectors.items():
        LongTermMemory.objects.filter(text=text).update(embedding=embeddings.packed(vector), embedding_model="m")


def found(vector: list[float], *, model: str = "m", k: int = 10, least: float = -1.0) -> list[tuple[str, float]]:
    texts = dict(LongTermMemory.objects.values_list("id", "text"))
    near = nearest(LongTermMemory.objects.all(), vector, model=model, k=k, least=least)
    return [(texts[each.memory_id], round(each.likeness, 3)) for each in near]


def test_the_nearest_come_first_whatever_the_length_of_the_vectors():
    remembered(**VECTORS)

    assert found([10.0, 0.1]) == [("east", 1.0), ("north-east", 0.714), ("north", 0.01), ("west", -1.0)]


def test_only_so_many_and_only_what_is_near_enough():
    remembered(**VECTORS)

    assert [text for text, _ in found([1.0, 0.0], k=2)] == ["east", "north-east"]
    assert [text for text, _ in found([1.0, 0.0], least=0.5)] == ["east", "north-east"]


def test_equally_near_ones_come_in_the_order_of_their_rows():
    remembered(a=[1.0, 0.0], b=[2.0, 0.0], c=[3.0, 0.0])

    assert [text for text, _ in found([1.0, 0.0], k=2)] == ["a", "b"]


def test_vectors_of_another_model_or_dimension_are_not_compared():
    remembered(**VECTORS)
    LongTermMemory.objects.filter(text="east").update(embedding_model="other")
    LongTermMemory.objects.filter(text="north").update(embedding=embeddings.packed([1.0, 0.0, 0.0]))

    assert [text for text, _ in found([1.0, 0.0], least=0.0)] == ["north-east"]


def test_a_search_that_would_compare_too_many_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nearness, "COMPARED", 3)
    remembered(**VECTORS)

    with pytest.raises(TooMany, match="Narrow the search"):
        found([1.0, 0.0])


def test_a_vector_of_zeros_is_like_nothing():
    remembered(**VECTORS)

    assert {likeness for _, likeness in found([0.0, 0.0])} == {0.0}
