"""Counts of calls, outcomes and durations for Prometheus; none without the extra `metrics`."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import prometheus_client
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    IS_COUNTING = True
except ImportError:
    IS_COUNTING = False

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LABELS = ("contract", "method", "tool")
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where prometheus_client looks for shared counters


@contextmanager
def shared_folder() -> Iterator[None]:
    """Create the folder in which several workers share their counters; call this before they start."""
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="satchel-metrics-")
    try:
        yield
    finally:
        shutil.rmtree(os.environ.pop(_FOLDER), ignore_errors=True)


class Metrics:
    """The counters of one process, or of several that share a folder."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[Counter, Histogram]] = {}  # labels() is slow
        if not IS_COUNTING:
            return
        registry = self._registry = CollectorRegistry()
        self._requests = Counter("satchel_requests", "Requests answered.", _LABELS, registry=registry)
        self._errors = Counter("satchel_errors", "Requests answered with an error.", _LABELS, registry=registry)
        seconds = "Time from the whole request to its answer."
        self._seconds = Histogram("satchel_request_seconds", seconds, _LABELS, buckets=_BUCKETS, registry=registry)
        self._refusals = Counter("satchel_refusals", "Requests refused by the guard.", ("status",), registry=registry)
        self._streams = Gauge("satchel_streams", "Open streams.", registry=registry, multiprocess_mode="livesum")

    def called(self, contract: str, method: str, tool: str, *, is_error: bool, seconds: float = 0.0) -> None:
        """Count one request; method and tool must be known names, because each name creates a time series."""
        if not IS_COUNTING:
            return
        names = (contract, method, tool)
        if names not in self._known:
            self._known[names] = (self._requests.labels(*names), self._seconds.labels(*names))
        requests, durations = self._known[names]
        requests.inc()
        durations.observe(seconds)
        if is_error:
            self._errors.labels(*names).inc()

    def refused(self, status: int) -> None:
        """Count one refusal by the guard."""
        if IS_COUNTING:
            self._refusals.labels(str(status)).inc()

    def stream_opened(self, by: int = 1) -> None:
        """Count a stream that was opened or, with -1, closed."""
        if IS_COUNTING:
            self._streams.inc(by)

    def show(self) -> tuple[bytes, str] | None:
        """Return the page for Prometheus and its content type; None if nothing is counted."""
        if not IS_COUNTING:
            return None
        from prometheus_client.exposition import CONTENT_TYPE_LATEST
        from prometheus_client.metrics_core import Metric
        from prometheus_client.multiprocess import MultiProcessCollector

        if _FOLDER not in os.environ:
            return prometheus_client.generate_latest(self._registry), CONTENT_TYPE_LATEST
        folder, registry = Path(os.environ[_FOLDER]), CollectorRegistry()
        _forget_dead_workers(folder)

        class Workers(MultiProcessCollector):
            """Adds up the counters of all workers; skips the empty file of a worker that is just starting."""

            def collect(self) -> Iterator[Metric]:
                files = [str(file) for file in folder.glob("*.db") if file.stat().st_size]
                return self.merge(files, accumulate=True)  # type: ignore[no-any-return, no-untyped-call]

        Workers(registry)  # type: ignore[no-untyped-call]
        return prometheus_client.generate_latest(registry), CONTENT_TYPE_LATEST


def _forget_dead_workers(folder: Path) -> None:
    """Drop the gauges of dead workers, whose open streams would otherwise be counted forever."""
    for file in folder.glob("gauge_live*_*.db"):
        try:
            os.kill(int(file.stem.rpartition("_")[2]), 0)
        except ProcessLookupError:
            file.unlink(missing_ok=True)
