"""Whether a server could start with its settings, and whether a store holds together."""

import ssl
from typing import Any

from rosenblatt.service.models import open_models
from rosenblatt.service.serving import address, check, listening
from rosenblatt.web.settings import Settings


def checked(settings: Settings) -> dict[str, Any]:
    """Open what serving would open, close it again, and say how it stands; raise where it could not be served."""
    remarks = check(settings)
    if settings.tls_certificate:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_certificate, settings.tls_key)
    with listening(settings) as sock:
        where = address(settings, sock)
    models = open_models(settings)
    try:
        scopes = sorted({scope for scope, _ in settings.tokens})
        return {
            "address": where,
            "store": str(settings.data),
            "models": [f"{each.name}: {each.learner.rows:,} examples" for each in models] or "none yet",
            "offline": [str(each.refusal()) for each in models.offline.values()] or "none",
            "tokens": ", ".join(scopes) if scopes else "none: everybody on this machine may do everything",
            "remarks": [*remarks, *(f"{file}: {reason}" for file, reason in models.passed_over)] or "none",
        }
    finally:
        models.close(snapshot=False)
