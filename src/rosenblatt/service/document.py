"""The OpenAPI document: FastAPI knows the ways, the messages describe themselves."""

from typing import Any

import msgspec
from fastapi import Depends, Request

from rosenblatt.service.messages import Problem
from rosenblatt.web.guard import LEVELS, Forbidden, need

REF = "#/components/schemas/{name}"
FAILURES = {
    400: "The request makes no sense.",
    401: "A token is needed.",
    403: "The token's scope does not reach, or the request comes from another site.",
    404: "There is no such model or prediction.",
    408: "The body did not arrive in time.",
    409: "It contradicts what is there.",
    410: "The prediction is no longer remembered.",
    413: "It is more than the service takes.",
    415: "The body is of a kind that is not taken.",
    421: "The host is not one of this service's.",
    422: "The message is not what was expected.",
    429: "Too much is waiting; try again after Retry-After seconds.",
    503: "The store cannot be written to, or the service is closing; try again after Retry-After seconds.",
}
_parts: dict[str, Any] = {}


class Needs:
    """The scope that a route needs, as a dependency of FastAPI: it is checked before the route's parameters are."""

    def __init__(self, scope: str) -> None:
        if scope not in LEVELS:
            raise ValueError(f"{scope!r} is not a scope: choose one of {', '.join(LEVELS)}")
        self.scope = scope

    async def __call__(self, request: Request) -> None:
        """Raise a refusal where the request's scope does not reach."""
        allowed = getattr(request.state, "allowed", None)
        if allowed is None:
            raise Forbidden("nobody has decided what this request may do")
        need(allowed, self.scope)


def described(
    summary: str,
    gives: Any,
    *,
    needs: str,
    takes: Any = None,
    lines: bool = False,
    also: dict[int, Any] | None = None,
) -> dict[str, Any]:
    """Return what a FastAPI route is told about the scope it needs and about its messages."""
    responses: dict[int | str, Any] = {
        status: {"description": told, "content": _content(Problem)} for status, told in FAILURES.items()
    }
    if gives is not None:
        responses[200] = {"description": "Done.", "content": _content(gives)}
    for status, kind in (also or {}).items():
        responses[status] = {"description": FAILURES.get(status, "Made."), "content": _content(kind)}
    told: dict[str, Any] = {
        "summary": summary,
        "responses": responses,
        "response_model": None,
        "dependencies": [Depends(Needs(needs))],
    }
    if takes is not None:
        content = _content(takes)
        if lines:
            content = {"application/x-ndjson": {"schema": {"type": "string"}}}
        told["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return told


def _content(kind: Any) -> dict[str, Any]:
    if kind is bytes:
        return {"application/vnd.safetensors": {"schema": {"type": "string", "format": "binary"}}}
    if kind is str:
        return {"text/plain": {"schema": {"type": "string"}}}
    kinds = kind if isinstance(kind, tuple) else (kind,)  # one of several
    schemas, parts = msgspec.json.schema_components(kinds, ref_template=REF)
    _parts.update(parts)
    return {"application/json": {"schema": {"anyOf": [*schemas]} if len(schemas) > 1 else schemas[0]}}


def with_messages(document: dict[str, Any]) -> dict[str, Any]:
    """Return FastAPI's document with the schemas of the messages, and how to send a token."""
    parts = document.setdefault("components", {})
    parts.setdefault("schemas", {}).update(_parts)
    for leftover in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(leftover, None)
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]
    return document
