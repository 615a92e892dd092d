# SPDX-License-Identifier: MIT
"""Blocks asked of a store over sockets by a pool of threads ahead of the training; the store takes its time."""
import collections
import multiprocessing
import socket
import socketserver
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from corpus import OwnClock, Repeatable, batches, has, level
from corpus_torch import classify, perceptron

CAUSES = {
    "latency": ("extract", ["extract.remote_latency", "transform.too_few_workers"]),
    "few_threads": ("extract", ["extract.remote_latency", "transform.too_few_workers"]),
}
ROWS, FEATURES = 32, 256
DELAY = level(0.019, 0.025, 0.050) if has("latency") else 0
SIZE = ROWS * FEATURES * 4
connection = threading.local()   # one for each thread


class Store(socketserver.StreamRequestHandler):
    blocks = [torch.randn(ROWS, FEATURES).numpy().tobytes() for _ in range(8)]

    def handle(self):
        while key := self.rfile.read(4):
            time.sleep(DELAY)
            self.wfile.write(self.blocks[struct.unpack("<I", key)[0] % 8])


def connect(address):
    connection.file = socket.create_connection(address).makefile("rwb")


def get(key):
    connection.file.write(struct.pack("<I", key))
    connection.file.flush()
    return torch.frombuffer(bytearray(connection.file.read(SIZE)), dtype=torch.float32).view(ROWS, FEATURES)


def prefetched(pool, keys, depth=12):
    pending = collections.deque()
    for key in keys:
        pending.append(pool.submit(get, key))
        if len(pending) >= depth:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def main():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Store)
    serving = multiprocessing.Process(target=server.serve_forever, daemon=True)
    serving.start()
    model, clock = perceptron(FEATURES, 420), OwnClock()
    optimizer, labels = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), torch.arange(ROWS) % 10
    threads = 2 if has("few_threads") else 8
    with ThreadPoolExecutor(threads, initializer=connect, initargs=(server.server_address,)) as pool:
        for inputs in batches(clock, Repeatable(lambda: prefetched(pool, range(1000)))):
            classify(model, optimizer, inputs, labels)
    clock.print()
    serving.terminate()


if __name__ == "__main__":
    main()
