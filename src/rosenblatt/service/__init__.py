"""The online service: predict, be corrected, learn at once, lose nothing.

- :class:`~rosenblatt.service.models.Models` ``(folder)``: every model of a store; recovers, predicts, explains.
- :class:`~rosenblatt.service.writer.Service` ``(models)``: the one write path, on an event loop:
  ``await service.create(…)``, ``await service.feedback(name, label, example | prediction=id, key=…)``,
  ``await service.learn(name, pairs)``, ``await service.delete(name)``, ``await service.undo(name, seq)``,
  ``await service.snapshot(name)``; many feedbacks share one flush of the disk. Reads that take long are awaited too:
  ``explain``, ``portraits``, ``fingerprint``.
- :class:`~rosenblatt.service.writer.LocalModels` ``(folder)``: the same for commands and scripts, without a server:
  every call runs the service's coroutine to its end. A second process on the same folder is refused
  (:class:`~rosenblatt.service.store.Locked`).
- :func:`~rosenblatt.service.server.create_app` ``(settings) -> FastAPI``: the API under ``/v1``; the running
  service is ``app.state.service`` after start-up. Pages mount onto it: ``nicegui.ui.run_with(app, …)``; the
  middleware checks host, origin and session before any of them is reached.
- :mod:`~rosenblatt.service.schemas`: the types of requests and answers (``Example``, ``Prediction``, ``Change`` …).
- :mod:`~rosenblatt.web.refusals`: what may be refused, each with its status and a sentence for people.
"""

from importlib.util import find_spec

_missing = [
    name for name in ("msgspec", "fastapi", "uvicorn", "prometheus_client") if find_spec(name) is None
]
if _missing:
    raise ImportError(
        f"the service needs {', '.join(_missing)}: pip install 'rosenblatt[service]'", name=_missing[0]
    )
