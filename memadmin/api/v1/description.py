"""How the views describe themselves in the OpenAPI schema."""

from __future__ import annotations

from typing import Any, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import Serializer

from memadmin.api.v1 import shapes
from memadmin.api.v1.idempotency import HEADER

PROBLEMS: dict[str, type[Serializer[Any]]] = {
    **dict.fromkeys(("400", "401", "403", "404", "405", "406", "411", "413", "415", "422", "429", "503"), shapes.Problem),
    "409": shapes.ConflictProblem,
}
KEYED = "A name of this write. Sent again with the same name within a day, it is not done twice."


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "memadmin.api.v1.base.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "An API token."}


class Described(AutoSchema):
    """Adds what every address can answer when something goes wrong, and the scope that it asks for."""

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction=direction)
        for status, shape in PROBLEMS.items():
            bodies.setdefault(status, self._get_response_for_code(shape, status, ["application/json"], direction))  # type: ignore[no-untyped-call]
        return bodies

    def get_override_parameters(self) -> list[Any]:
        """Name the header of writes that may be sent again, where `answer_once` reads it."""
        once = self.method in {"POST", "PUT", "PATCH", "DELETE"} and cast(Any, self.view).answers_once
        return [OpenApiParameter(HEADER, str, OpenApiParameter.HEADER, description=KEYED)] if once else []

    def get_operation_id(self, path: str = "", method: str = "") -> str:
        return f"{type(self.view).__name__}_{self.method.lower()}"

    def get_description(self) -> str:  # type: ignore[override]
        scope = cast(Any, self.view).scopes.get(self.method)
        words: str = super().get_description()
        return f"{words}\n\nScope: `{scope.value}`." if scope else words
