"""Refusals: exceptions that are answered to the client, each with a status and an error word."""

from typing import Any


class Refusal(ValueError):
    """A request that is refused; its text names the thing, the value and a remedy."""

    status, error = 400, "bad_request"
    retry_after: int | None = None
    learned: Any = None  # what a bulk had learned before


class BadMessage(Refusal):
    """Not JSON, or not the JSON that was asked for."""

    status, error = 422, "bad_message"


class Unknown(Refusal):
    """A model or a prediction that is not there."""

    status, error = 404, "not_found"


class NotAllowed(Refusal):
    """A method that a path does not have."""

    status, error = 405, "method_not_allowed"


class Gone(Refusal):
    """A prediction that is no longer stored, or a feedback that can no longer be undone."""

    status, error = 410, "gone"


class Conflict(Refusal):
    """A request that contradicts what is stored."""

    status, error = 409, "conflict"


class TooLarge(Refusal):
    """A request beyond a limit of size or memory."""

    status, error = 413, "too_large"


class Busy(Refusal):
    """The queue is full; nothing was learned."""

    status, error, retry_after = 429, "busy", 1


class TooMany(Refusal):
    """More sign-ins or writes a minute than one client may make."""

    status, error, retry_after = 429, "too_many", 1


class StoreDown(Refusal):
    """The store cannot be written to; nothing was learned."""

    status, error, retry_after = 503, "store_down", 5


class Offline(Refusal):
    """A model that cannot be rebuilt from its journal; others are served."""

    status, error = 503, "model_offline"


class Closing(Refusal):
    """The service is shutting down."""

    status, error, retry_after = 503, "closing", 2


class WrongType(Refusal):
    """A body whose content type is not accepted."""

    status, error = 415, "wrong_type"


class TimedOut(Refusal):
    """A body that did not arrive in time."""

    status, error = 408, "timed_out"


class Left(Refusal):
    """A client that disconnected before its request was complete; nobody reads the answer."""

    status, error = 400, "left"
