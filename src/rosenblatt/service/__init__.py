"""The online service: predict, take feedback, learn from it at once, and lose none of it.

- :class:`~rosenblatt.service.models.Models` ``(folder)``: every model of a store; restores, predicts, explains.
- :class:`~rosenblatt.service.writer.Service` ``(models)``: the one write path, on an event loop:
  ``await service.create(…)``, ``await service.feedback(name, label, example | prediction=id, key=…)``,
  ``await service.learn(name, pairs)``, ``await service.delete(name)``, ``await service.undo(name, seq)``,
  ``await service.snapshot(name)``; many feedbacks share one flush of the disk. Slow reads are awaited too:
  ``explain``, ``portraits``, ``fingerprint``.
- :class:`~rosenblatt.service.writer.LocalModels` ``(folder)``: the same for commands and scripts, without a server:
  every call runs the service's coroutine and waits for it. A second process on the same folder is refused
  (:class:`~rosenblatt.service.store.Locked`).
- :func:`~rosenblatt.service.server.create_app` ``(settings) -> FastAPI``: the API under ``/v1``; the running
  service is ``app.state.service`` after start-up. Pages are mounted with ``nicegui.ui.run_with(app, …)``; the
  middleware checks host, origin and session before any of them.
- :mod:`~rosenblatt.service.schemas`: the types of requests and answers (``Example``, ``Prediction``, ``Change`` …).
- :mod:`~rosenblatt.web.refusals`: the exceptions that become error answers, each with its status.
"""

from importlib.util import find_spec

_missing = [
    name for name in ("msgspec", "fastapi", "uvicorn", "prometheus_client") if find_spec(name) is None
]
if _missing:
    raise ImportError(
        f"the service needs {', '.join(_missing)}: pip install 'rosenblatt[service]'", name=_missing[0]
    )
