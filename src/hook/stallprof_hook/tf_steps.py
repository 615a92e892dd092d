# SPDX-License-Identifier: MIT
"""Steps of TensorFlow programs with a loop of their own: an eager call of a Keras optimizer, and each
call of a tf.function in whose tracing one was called. Nothing is put into a graph: tracing runs the
program's Python, and the hook remembers that the optimizer's was run.

An optimizer inside a loop of the graph (a dataset gone through in a tf.function) makes a call many
steps: such functions are left alone, and the steps stay unknown. So are graphs of other backends.
"""
import sys
import threading

from . import events
from .events import Around, ByIdentity, Nested, now, put
from .parts import Part, Parts, path_of

FUNCTIONS = Parts('tf_steps', Part(
    'functions', "steps that are calls of a tf.function", 'Function.__call__(self)'))
OPTIMIZERS = Parts('tf_steps', Part(
    'optimizers', "steps of a program's own loop", any_of=True,
    *('BaseOptimizer.apply(self)', '_BaseOptimizer.apply_gradients(self)')))   # Keras 3, Keras 2

fitting = set()      # threads inside a train_function of Keras, whose calls tf_keras counts

_applying = Nested()   # optimizers' calls, by thread
_traced = {}         # thread, or None of a replica's -> how often an optimizer was traced there
_functions, _optimizers = ByIdentity(), ByIdentity()   # numbers: of functions that are steps, of optimizers
_count = [1 << 16]   # away from the numbers of tf_keras
_IN_A_LOOP = ('WhileBodyFuncGraph', 'WhileCondFuncGraph')
# Where these were before; since then others' names for the new ones, or something else.
_MOVED_FROM = ('tensorflow.python.eager.def_function', 'keras.src.optimizers.optimizer')
_MAX_GRAPHS = 64    # inside each other
_REPLICA = '_MirroredReplicaThread'   # traces what a thread that waits for it calls (tf.distribute)


def _number_of(owner, numbers):
    number = numbers.get(owner)
    if number is None:
        _count[0] += 1
        number = numbers.put(owner, _count[0])
    return number


# ---- optimizers -----------------------------------------------------------------------------------

def _apply_begins(args, kwargs):
    return _applying.begin(threading.get_ident())


def _apply_done(token, args, result, succeeded):
    at, thread = _applying.end(token), threading.get_ident()
    if at is None or not succeeded or thread in fitting or backend() != 'tensorflow':
        return
    if _eagerly():
        put(events.OPTIMIZER_STEP, at, now() - at, _number_of(args[0], _optimizers))
        events.announce('tensorflow')
    elif not _in_a_loop():
        key = None if type(threading.current_thread()).__name__ == _REPLICA else thread
        _traced[key] = _traced.get(key, 0) + 1


def _traces(thread):
    """Of those that a call by this thread may have made."""
    return _traced.get(thread, 0), _traced.get(None, 0)


def backend():
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
    return args[0], thread, _traces(thread), now()


def _call_done(token, args, result, succeeded):
    function, thread, traced, at = token
    if not succeeded:
        return
    if _functions.get(function) is None:
        if _traces(thread) == traced:
            return
        events.announce('tensorflow')
    put(events.OPTIMIZER_STEP, at, now() - at, _number_of(function, _functions))


def install(module):
    """`module` has tf.function's class, or an optimizer's base class, and was just executed."""
    parts, begin, done = (FUNCTIONS, _call_begins, _call_done) if 'function' in module.__name__ \
        else (OPTIMIZERS, _apply_begins, _apply_done)
    if module.__name__ in _MOVED_FROM and not parts.own(module):
        return
    parts.install(module, {path_of(name): lambda call: Around(call, begin, done)
                           for name in parts.parts[0].names})
