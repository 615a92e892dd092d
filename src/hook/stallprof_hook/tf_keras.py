# SPDX-License-Identifier: MIT
"""Keras on TensorFlow (Keras 3, and 2 as tf_keras or inside older TensorFlows): Model.fit's steps,
one call of train_function each; and Keras 3 on JAX, and on torch, whose batches torch_loader.py reports.

In fit the get-next is an operation of the step's graph: no Python call lasts as long as it does, and
nothing of ours goes into a program's graph. So there are steps here, and no fetches; what the graph
waits for is seen from outside (src/sampler/perf/get_next_watch.h). With steps_per_execution > 1 a call is as
many steps, of which an epoch's last call may have fewer: as many as its data set says that are left, and
where that says nothing all are counted.
"""
import threading

from . import events
from .events import Around, now, put
from .parts import Part, Parts, path_of
from .tf_steps import backend, fitting

PARTS = Parts('tf_keras', Part(
    'steps', 'the steps of Model.fit', any_of=True,
    *(kind + '.make_train_function(self)' for kind in ('TensorFlowTrainer', 'TorchTrainer', 'JAXTrainer', 'Model'))))

_count = [0]
_LEFT = '_stallprof_left'   # of an iterator: elements not yet taken; None: nobody knows


def install(module):
    """`module` is where Keras has its trainer, just executed."""
    PARTS.install(module, {path_of(name): lambda make: Around(make, None, _made)
                           for name in PARTS.parts[0].names})


def _made(model, args, result, succeeded):
    function = model.__dict__.get('train_function')
    if not succeeded or function is None or type(function) is Around:
        return None
    _count[0] += 1
    number = _count[0]

    def begin(args, kwargs):
        fitting.add(threading.get_ident())
        return now()

    def done(at, args, result, succeeded):
        fitting.discard(threading.get_ident())
        if succeeded:
            duration = now() - at
            put(events.OPTIMIZER_STEP, at, duration, number, _steps(model, args))

    around = model.__dict__['train_function'] = Around(function, begin, done)
    events.announce(backend())
    return [around] if result is function else None   # Keras 2 keeps what this call returns


def _steps(model, args):
    """Of the call that ended. Keras asks a data set for its length too, so nothing new is run."""
    many = getattr(model, 'steps_per_execution', None)
    if type(many) is not int:   # Keras 2: a variable, of which each call sets how many it makes
        variable = getattr(model, '_steps_per_execution', None)
        return max(1, int(variable.numpy())) if hasattr(variable, 'numpy') else 1
    if many < 2:
        return 1
    own = getattr(args[-1], '__dict__', None) if args else None   # the iterator; on JAX behind the state
    if own is None:
        return many
    if _LEFT not in own:
        own[_LEFT] = _length(own.get('_dataset'))
    left = own[_LEFT]
    if left is None:
        return many
    own[_LEFT] = max(0, left - many)
    return max(1, min(many, left))


def _length(dataset):
    try:
        length = int(dataset.cardinality().numpy())
    except Exception:   # one that is spread over devices, or of a kind we do not know
        return None
    return length if length > 0 else None   # endless, or not known
