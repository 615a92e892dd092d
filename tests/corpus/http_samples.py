# SPDX-License-Identifier: MIT
"""Samples asked of a server over HTTP, one request each, by a single worker; the server takes its time."""
import http.client
import http.server
import multiprocessing
import time

import torch

from corpus import has, level
from corpus_torch import loader_of, perceptron, train

CAUSES = {
    "latency": ("extract", ["extract.remote_latency", "transform.too_few_workers"]),
    "one_worker": ("extract", ["extract.remote_latency", "transform.too_few_workers"], ["more_workers"]),
    "shared_memory": ("load", ["load.ipc"]),
}
BODY = torch.randn(512).numpy().tobytes()
DELAY = level(0.0002, 0.0005, 0.0015)
connections = {}   # of this process


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 8192   # head and body in one packet

    def do_GET(self):
        if has("latency"):
            time.sleep(DELAY)
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


def sample(index):
    connection = connections.setdefault("one", None) or http.client.HTTPConnection("127.0.0.1", sample.port)
    connections["one"] = connection
    connection.request("GET", f"/{index}")
    return torch.frombuffer(bytearray(connection.getresponse().read()), dtype=torch.float32), index % 10


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sample.port = server.server_port
    serving = multiprocessing.Process(target=server.serve_forever, daemon=True)
    serving.start()
    train(loader_of(512, sample, 16, shared=has("shared_memory"), num_workers=1 if has("one_worker") else 4),
          perceptron(512))
    serving.terminate()


if __name__ == "__main__":
    main()
