"""What the service counts, in Prometheus' format. Counting is an addition; the format is made when asked for."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rosenblatt.service.service import Service

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets: dict[str, list[int]] = {}
        self.seconds: Counter[str] = Counter()

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[route, status] += 1
        own = self.buckets.get(route)
        if own is None:
            own = self.buckets[route] = [0] * (len(BUCKETS) + 1)
        own[bisect_left(BUCKETS, seconds)] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]

    def page(self, service: "Service") -> bytes:
        """Return all that is counted, as text."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self, service))
        return generate_latest(registry)


class _Collector:
    """Tells prometheus-client what was counted."""

    def __init__(self, metrics: Metrics, service: "Service") -> None:
        self._metrics, self._service = metrics, service

    def collect(self) -> Iterable[Any]:
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        requests = CounterMetricFamily(
            "rosenblatt_requests", "Requests answered.", labels=["route", "status"]
        )
        for (route, status), n in self._metrics.requests.items():
            requests.add_metric([route, str(status)], n)
        yield requests
        took = HistogramMetricFamily("rosenblatt_request_seconds", "How long they took.", labels=["route"])
        for route, counts in self._metrics.buckets.items():
            total, buckets = 0, []
            for edge, n in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += n
                buckets.append((edge, total))
            took.add_metric([route], buckets, self._metrics.seconds[route])
        yield took
        service = self._service
        for name, told, value in (
            ("rosenblatt_commits", "Transactions of the journal.", service.commits),
            ("rosenblatt_feedbacks_journalled", "Feedbacks in them.", service.committed),
        ):
            yield CounterMetricFamily(name, told, value=value)
        for name, told, number in (
            ("rosenblatt_feedbacks_waiting", "Feedbacks waiting to be durable.", service.waiting),
            ("rosenblatt_models_offline", "Models that cannot be served.", len(service.models.offline)),
            ("rosenblatt_memory_bytes", "Memory that models take, about.", service.models.memory),
            ("rosenblatt_store_failing", "Whether the last write failed.", int(service.failing is not None)),
            (
                "rosenblatt_journal_seq",
                "The last feedback's place in the journal.",
                service.models.store.last_seq,
            ),
        ):
            yield GaugeMetricFamily(name, told, value=number)
        yield from self._models()

    def _models(self) -> Iterable[Any]:
        from prometheus_client.core import GaugeMetricFamily

        told = {
            "clock": "Examples learned from.",
            "mistakes": "Told wrong before being learned from.",
            "updates": "Times the weights moved.",
            "features": "Features known.",
        }
        families = {
            key: GaugeMetricFamily(f"rosenblatt_model_{key}", text, labels=["model"])
            for key, text in told.items()
        }
        for name in self._service.models.names:
            info = self._service.models.info(name)
            for key, family in families.items():
                family.add_metric([name], getattr(info, key))
        yield from families.values()
