# SPDX-License-Identifier: MIT
"""PyTorch with no loader: each batch is fetched by HTTP, from a server of its own that answers after 8 ms."""
import http.server
import multiprocessing
import os
import time
import urllib.request

import numpy
import torch

from own_clock import WITHOUT
from torch_training import on_rows, train_by


class Batches(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.008)
        data = os.urandom(16384)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def serve(port):
    server = http.server.HTTPServer(("127.0.0.1", 0), Batches)
    port.value = server.server_port
    server.serve_forever()


def main():
    torch.set_num_threads(1)
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)

    def batch():
        with urllib.request.urlopen(f"http://127.0.0.1:{port.value}/") as answer:
            return torch.from_numpy(numpy.frombuffer(answer.read(), "u1").astype("f4").reshape(64, 256) / 255)

    ready = batch()
    train_by(lambda: ready if WITHOUT else batch(), *on_rows(*(torch.nn.Linear(256, 256) for _ in range(6))))
    server.terminate()


if __name__ == "__main__":
    main()
