# SPDX-License-Identifier: MIT
class PyDataset:
    def __init__(self, workers=1, max_queue_size=10):
        self.workers, self.max_queue_size = workers, max_queue_size


class PyDatasetAdapter:
    def __init__(self, x, class_weight=None, shuffle=False):
        self.threads = x.workers
