# SPDX-License-Identifier: MIT
import time

import tensorflow as tf
from tensorflow.python.framework import ops


class TensorFlowTrainer:
    def __init__(self, seconds, graph='multi_step_on_iterator'):
        self.seconds, self.graph_name = seconds, graph
        self.train_function = self.test_function = None
        self.steps_per_execution = 1

    def _function(self, seconds):
        graph = ops.Graph(self.graph_name)

        def function(iterator):
            if not graph.operations:
                ops.graphs.append(graph)
                iterator.get_next()
                tf.operation(lambda: time.sleep(seconds))
                ops.graphs.pop()
            graph.argument = iterator
            for step in range(self.steps_per_execution):
                try:
                    for run in graph.operations:
                        run()
                except IndexError:
                    if step == 0:
                        raise
                    return
        return function

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = self._function(self.seconds)

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = self._function(self.seconds / 2)

    def fit(self, dataset, epochs):
        self.make_train_function()
        self.steps(dataset, epochs, self.train_function)

    def evaluate(self, dataset):
        self.make_test_function()
        self.steps(dataset, 1, self.test_function)

    def steps(self, dataset, epochs, function):
        for _ in range(epochs):
            iterator = iter(dataset)
            try:
                while True:
                    function(iterator)
            except IndexError:
                pass
