"""The online service: predict, be corrected, learn at once, lose nothing.

The core knows no network and no event loop; the service puts one before it, and pages and commands use either:

- :class:`~rosenblatt.service.models.Models` ``(folder)``: every model of a store, synchronous, one thread. Commands use
  it directly. ``create(name, settings)``, ``names``, ``info(name)``, ``predict(name, [Example(text=…)], reasons=5)`` ->
  predictions with an ``id``, ``feedback(name, label, example | prediction=id, key=…)`` -> what changed,
  ``learn(name, [(example, label), …])``, ``explain(name, …)``, ``portraits(name)``, ``ledger(name, after, limit)``,
  ``snapshot(name)``, ``close()``. Durable when it returns. A second process on the same folder is refused
  (:class:`~rosenblatt.service.lock.Locked`).
- :class:`~rosenblatt.service.service.Service` ``(models)``: the same in a running server, on its event loop: reading
  (``predict``, ``info``, ``explain``, ``portraits``) is immediate through ``service.models``; writing is awaited,
  ``await service.feedback(name, label, example | prediction=id, key=…)``, ``await service.learn(name, pairs)``,
  ``await service.create(…)``, ``await service.delete(name)``: many feedbacks share one flush of the disk.
- :func:`~rosenblatt.service.app.create_app` ``(settings) -> FastAPI``: the API under ``/v1``; the running service is
  ``app.state.service`` after start-up. Pages mount onto it: ``nicegui.ui.run_with(app, …)``; host, origin and token are
  checked before any of them is reached.
- :mod:`~rosenblatt.service.messages`: the types of requests and answers (``Example``, ``Prediction``, ``Change`` …).
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
