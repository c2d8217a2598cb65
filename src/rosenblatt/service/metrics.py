"""Metrics of the service, with prometheus-client: requests, their durations, the store and the models."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from rosenblatt.service.writer import Service

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
ROUTES = ("models", "learn", "ledger", "explain", "snapshot", "predict", "feedback")  # counted by name
PATHS = ("/healthz", "/readyz", "/metrics")  # counted by themselves
AT_ONCE = 256  # requests that are counted together
MODEL_GAUGES = {
    "clock": "Examples learned from.",
    "mistakes": "Predicted wrongly before being learned from.",
    "updates": "Times the weights moved.",
    "features": "Features known.",
}


def route_of(path: str) -> str:
    """Return the name that a path is counted by.

    >>> route_of("/v1/models/m/predict"), route_of("/v1/models/m"), route_of("/readyz"), route_of("/elsewhere")
    ('predict', 'models', '/readyz', 'other')
    """
    if path.startswith("/v1/"):
        parts = path.split("/")
        route = parts[4] if len(parts) == 5 else "models"
        return route if route in ROUTES else "other"
    return path if path in PATHS else "other"


class Metrics:
    """Requests by route and status, and how long they took; one registry for each application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "rosenblatt_requests", "Requests answered.", ["route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "rosenblatt_request_seconds",
            "How long they took.",
            ["route"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._labels = lru_cache(maxsize=1024)(self._labels_of)  # labels are looked up once
        self._answered: list[tuple[str, int, float]] = []  # and not yet counted

    def count(self, path: str, status: int, seconds: float) -> None:
        """Note a request, to be counted with others later: a request itself costs one append."""
        self._answered.append((path, status, seconds))
        if len(self._answered) >= AT_ONCE:
            self._count_answered()

    def _count_answered(self) -> None:
        answered, self._answered = self._answered, []
        for path, status, seconds in answered:
            requests, histogram = self._labels(path, status)
            requests.inc()
            histogram.observe(seconds)

    def _labels_of(self, path: str, status: int) -> tuple[Counter, Histogram]:
        route = route_of(path)
        return self._requests.labels(route, str(status)), self._seconds.labels(route)

    def watch(self, service: "Service") -> None:
        """Add the metrics of a running service."""
        self.registry.register(ServiceCollector(service))

    def page(self) -> bytes:
        """Return all metrics in Prometheus' format."""
        self._count_answered()
        return generate_latest(self.registry)


class ServiceCollector(Collector):
    """Collects the metrics of the store and the models whenever they are asked for."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics as they are now."""
        service, models = self._service, self._service.models
        for name, text, count in (
            ("rosenblatt_commits", "Transactions of the journal.", service.commits),
            ("rosenblatt_feedbacks_journalled", "Feedbacks in them.", service.committed),
        ):
            yield CounterMetricFamily(name, text, value=count)
        for name, text, number in (
            ("rosenblatt_feedbacks_waiting", "Feedbacks waiting to be durable.", service.waiting),
            ("rosenblatt_models_offline", "Models that cannot be served.", len(models.offline)),
            ("rosenblatt_memory_bytes", "Memory that models take, about.", models.memory),
            ("rosenblatt_store_failing", "Whether the last write failed.", int(service.failing is not None)),
            ("rosenblatt_journal_seq", "The last feedback's place in the journal.", models.store.last_seq),
        ):
            yield GaugeMetricFamily(name, text, value=number)
        families = {
            key: GaugeMetricFamily(f"rosenblatt_model_{key}", text, labels=["model"])
            for key, text in MODEL_GAUGES.items()
        }
        for name in models.names:
            info = models.info(name)
            for key, family in families.items():
                family.add_metric([name], getattr(info, key))
        yield from families.values()
