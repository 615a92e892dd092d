# SPDX-License-Identifier: MIT
"""Steps of TensorFlow programs with a loop of their own: an eager call of a Keras optimizer, and each
call of a tf.function in whose tracing one was called. Nothing is put into a graph: tracing runs the
program's Python, and the hook remembers that the optimizer's was run.

An optimizer inside a loop of the graph (a dataset gone through in a tf.function) makes a call many
steps: such functions are left alone, and the steps stay unknown. So are graphs of other backends.
"""
import sys
import threading
import weakref

from . import events
from .events import Around, Nested, now, put

fitting = set()      # threads inside a train_function of Keras, whose calls tf_keras counts

_applying = Nested()   # optimizers' calls, by thread
_traced = {}         # thread -> how often an optimizer was traced there
_functions = {}      # id(tf.function) -> (weak reference, number): those that are steps
_optimizers = {}     # id(optimizer) -> (weak reference, number)
_count = [1 << 16]   # away from the numbers of tf_keras
_IN_A_LOOP = ('WhileBodyFuncGraph', 'WhileCondFuncGraph')
_MAX_GRAPHS = 64    # inside each other


def _number_of(owner, numbers):
    key = id(owner)
    known = numbers.get(key)
    if known is None or known[0]() is not owner:
        _count[0] += 1
        known = numbers[key] = (weakref.ref(owner, lambda _: numbers.pop(key, None)), _count[0])
    return known[1]


def _is_step(function):
    known = _functions.get(id(function))
    return known is not None and known[0]() is function


# ---- optimizers -----------------------------------------------------------------------------------

def _apply_begins(args, kwargs):
    return _applying.begin(threading.get_ident())


def _apply_done(token, args, result, succeeded):
    at, thread = _applying.end(token), threading.get_ident()
    if at is None or not succeeded or thread in fitting or _backend() != 'tensorflow':
        return
    if _eagerly():
        put(events.OPTIMIZER_STEP, at, now() - at, _number_of(args[0], _optimizers))
        events.announce('tensorflow')
    elif not _in_a_loop():
        _traced[thread] = _traced.get(thread, 0) + 1


def _backend():
    """Of Keras 3; before it there was TensorFlow alone."""
    config = sys.modules.get('keras.src.backend.config')
    return getattr(config, '_BACKEND', 'tensorflow')


def _eagerly():
    return sys.modules['tensorflow.python.eager.context'].executing_eagerly()


def _in_a_loop():
    """Of the graph being traced: a while loop's body, or a function of tf.data's."""
    graph = sys.modules['tensorflow.python.framework.ops'].get_default_graph()
    for _ in range(_MAX_GRAPHS):
        if type(graph).__name__ in _IN_A_LOOP or str(getattr(graph, 'name', '')).startswith('Dataset_'):
            return True
        graph = getattr(graph, 'outer_graph', None)
        if graph is None:
            return False
    return True


# ---- functions ------------------------------------------------------------------------------------

def _call_begins(args, kwargs):
    thread = threading.get_ident()
    if thread in fitting or not _eagerly():
        return None
    return args[0], thread, _traced.get(thread, 0), now()


def _call_done(token, args, result, succeeded):
    function, thread, traced, at = token
    if not succeeded:
        return
    if not _is_step(function):
        if _traced.get(thread, 0) == traced:
            return
        events.announce('tensorflow')
    put(events.OPTIMIZER_STEP, at, now() - at, _number_of(function, _functions))


def install(module):
    """`module` has tf.function's class, or an optimizer's base class, and was just executed."""
    for name, method, begin, done in (
            ('Function', '__call__', _call_begins, _call_done),
            ('BaseOptimizer', 'apply', _apply_begins, _apply_done),             # Keras 3
            ('_BaseOptimizer', 'apply_gradients', _apply_begins, _apply_done)):  # Keras 2
        kind = module.__dict__.get(name)
        if getattr(kind, '__module__', None) == module.__name__ and method in kind.__dict__:
            setattr(kind, method, Around(kind.__dict__[method], begin, done))
