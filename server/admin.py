"""`/metrics` and `/healthz` over plain HTTP, in threads of their own, so that no scraper holds up a verdict."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.exposition import choose_encoder

from .addresses import split_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import CollectorRegistry

#: How long a scraper may take to ask or to read, and how many may be at it.
_TIMEOUT_S: Final = 5.0
_SCRAPERS: Final = 16


class Admin:
    """The port for operators."""

    def __init__(self, address: str, registry: CollectorRegistry, healthy: Callable[[], bool]) -> None:
        """Listen. Raises `OSError`."""
        host, port = split_address(address)
        self._server = _Server(host, port, _handler(registry, healthy))
        self._thread = threading.Thread(target=self._server.serve_forever, name="loopguard-admin", daemon=True)

    @property
    def address(self) -> str:
        """The address with the port in use."""
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if self._server.address_family == socket.AF_INET6 else f"{host!s}:{port}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more; scrapers that hang are left to their time-outs."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self._free = threading.BoundedSemaphore(_SCRAPERS)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Take no notice of scrapers that go away."""


def _handler(registry: CollectorRegistry, healthy: Callable[[], bool]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _TIMEOUT_S
        server_version = "loopguard"
        sys_version = ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                encode, kind = choose_encoder(self.headers.get("Accept", ""))
                self._answer(200, kind, encode(registry))
            elif path == "/healthz":
                well = healthy()
                self._answer(200 if well else 503, "text/plain", b"serving\n" if well else b"not serving\n")
            else:
                self._answer(404, "text/plain", b"there are /metrics and /healthz\n")

        def _answer(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Scrapes are not worth a line."""

    return Handler
