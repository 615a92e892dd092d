# SPDX-License-Identifier: MIT
from .. import context
from ...framework import ops


class Function:
    """tf.function: traced at its first call, and for each new count of arguments."""

    def __init__(self, python_function):
        self.python_function, self.graphs, self.traces = python_function, {}, 0

    def __call__(self, *args):
        if not context.executing_eagerly():
            return self.python_function(*args)
        graph = self.graphs.get(len(args))
        if graph is None:
            graph = ops.Graph(self.python_function.__name__)
            self.traces += 1
            ops.graphs.append(graph)
            try:
                self.python_function(*args)
            finally:
                ops.graphs.pop()
            self.graphs[len(args)] = graph
        for run in graph.operations:
            run()


class WhileBodyFuncGraph(ops.Graph):
    pass


def while_loop(times, body):
    outer = ops.graphs[-1]
    graph = WhileBodyFuncGraph('while_body')
    graph.outer_graph = outer
    ops.graphs.append(graph)
    body()
    ops.graphs.pop()
    outer.operations += graph.operations * times
