"""The web server's worker: a connection gets one of its few threads when it has something to say.

Browsers open connections ahead of need. gunicorn waits five seconds in a thread for the first byte of each, so that a page with a few
of them beside it held up everybody. And whoever begins a request and does not go on is let go: gunicorn would wait for ever.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from gunicorn.workers.gthread import _DEFER, ThreadWorker  # type: ignore[import-untyped]  # gunicorn has no types

AT_ONCE = 0.02  # seconds: who sends a request with the connection has sent it by then


class Worker(ThreadWorker):  # type: ignore[misc]
    patience = 30  # seconds without a byte, in the middle of a request

    def handle(self, conn: Any) -> Any:
        if not conn.initialized and not conn.wait_for_data(AT_ONCE):
            return _DEFER  # to the poller, which comes back when the first byte is there
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", self.patience, 0))
        return super().handle(conn)
