# SPDX-License-Identifier: MIT
"""Keras on TensorFlow (Keras 3, and 2 as tf_keras or inside older TensorFlows): Model.fit's and
evaluate's steps, one call of train_function or test_function each; and Keras 3 on torch, where the
batches are torch_loader.py's to tell of.

In fit the get-next is the first operation of the step's graph: no Python call lasts as long as it
does. So when Keras traces that graph, two readings of the clock are put around it and kept in a
variable, which is read after each call. Nothing else in the graph changes; where operations added
to it would change the numbers of a seeded program (Keras 2 with a global seed) they are left out,
and then there are steps without fetches. With steps_per_execution > 1 too: a call is many steps.
"""
import sys
import time

from . import events
from .events import Around, now, put
from .tf_data import pass_of, tracing

_count = [0]
_OWN_GRAPH = 'multi_step_on_iterator'   # Keras 3.9 on: a graph of the get-next and nothing random


class _Function:
    """A model's train_function or test_function."""

    def __init__(self, original, number):
        self.number = number     # of the optimizer; 0: a function that does not train
        self.clocks = None       # the variable: realtime before and after the get-next, s
        self.last = None
        self.many = 0            # get-nexts in the graph
        self.wrapped = Around(original, self.begin, self.end)

    def begin(self, args, kwargs):
        tracing.append(self)
        return now(), time.time_ns()

    def end(self, token, args, result, succeeded):
        tracing.remove(self)
        end = now()
        at, realtime = token
        state = pass_of(args[0]) if args else None
        begun = at
        if self.clocks is not None and self.many == 1 and state is not None:
            begun = self._put_fetch(state, at, realtime, end, succeeded)
        if self.number and succeeded:
            put(events.OPTIMIZER_STEP, begun, end - begun, self.number)

    def _put_fetch(self, state, at, realtime, end, succeeded):
        """When the fetch ended."""
        first, second = (float(t) for t in self.clocks.numpy())
        if not succeeded or (first, second) == self.last:
            if not succeeded:   # the data's end
                state.put(at, end - at, 0, -1, False, -1)
            return at
        self.last = (first, second)
        begin = at + min(max(int(first * 1e9) - realtime, 0), end - at)
        duration = min(max(int((second - first) * 1e9), 0), end - begin)
        state.put(begin, duration, 0, -1, True, -1)
        return begin + duration

    # ---- while the graph is being traced: called by tf_data.py

    def get_next_begins(self, iterator):
        graph = sys.modules['tensorflow.python.framework.ops'].get_default_graph()
        context = sys.modules['tensorflow.python.eager.context']
        if not (graph.name.startswith(_OWN_GRAPH) or context.global_seed() is None):
            return None
        tf = sys.modules['tensorflow']
        self.many += self.clocks is None
        if self.clocks is None:
            with tf.init_scope(), tf.device('CPU:0'):
                self.clocks = tf.Variable([0.0, 0.0], dtype=tf.float64, trainable=False)
        with tf.device('CPU:0'):
            begun = tf.timestamp()
        order = tf.control_dependencies([begun])
        order.__enter__()
        return self, (begun, order)

    def get_next_traced(self, token, result, succeeded):
        begun, order = token[1]
        order.__exit__(None, None, None)
        if not succeeded:
            return
        tf = sys.modules['tensorflow']
        tensors = [t for t in tf.nest.flatten(result, expand_composites=True)]
        with tf.control_dependencies(tensors), tf.device('CPU:0'):
            self.clocks.assign(tf.stack([begun, tf.timestamp()]))


def install(module):
    """`module` is where Keras has its trainer, just executed."""
    for name in ('TensorFlowTrainer', 'TorchTrainer', 'Model'):
        kind = module.__dict__.get(name)
        if kind is None or 'make_train_function' not in kind.__dict__:
            continue
        for part, trains in (('train', True), ('test', False)):
            maker = 'make_%s_function' % part
            setattr(kind, maker, Around(kind.__dict__[maker], None,
                                        _wrapper(part + '_function', trains)))
        return


def _wrapper(attribute, trains):
    def made(model, args, result, succeeded):
        function = model.__dict__.get(attribute)
        if not succeeded or function is None or type(function) is Around:
            return
        _count[0] += trains
        model.__dict__[attribute] = _Function(function, _count[0] if trains else 0).wrapped
        events.announce(_framework())
    return made


def _framework():
    return 'tensorflow' if 'tensorflow' in sys.modules else 'torch'
