# SPDX-License-Identifier: MIT
"""Steps of JAX programs: calls of a compiled function in whose tracing a model was updated, and eager
updates. As with tf.function nothing is put into a graph: tracing runs the program's Python, and the
hook remembers what was run.

An update is a call of optax's or equinox's apply_updates. A program that has neither updates by hand:
then a step is a call that took gradients when it was traced, and whose results go into its next
call, again and again (jax_calls.py). What is traced inside a loop of the graph (lax.scan) makes a call
many updates: such functions are left alone, and the steps stay unknown.

Compiled functions are objects of a native class, and only its __call__ is replaced: what a program
holds stays what it is. Where a million calls show no step the class gets its own back. Up to Python
3.11 calls go around a native class's __call__, and eager updates alone are seen, and where a
gradient is compiled.
"""
import collections
import sys
import threading

from . import _stallprof_events as native, events, jax_calls
from .events import Around, now, put
from .parts import ABSENT, Part, Parts, report
from .tf_steps import fitting

_steps = {}      # id(compiled function) -> jax_calls.Step
_eager = {}      # stack of a place that updates eagerly, or is traced where calls are not seen -> number
_calls_unseen = [False]   # the interpreter calls compiled functions past our __call__
_MAX_PLACES, _MAX_EAGER, _MAX_FRAMES = 8, 64, 32
_VECTORCALL = 1 << 11   # Py_TPFLAGS_HAVE_VECTORCALL
CALLS = Parts('jax_steps', Part('calls', 'steps that are calls of compiled functions',
                                'PjitFunction.__call__'))
GRADIENTS = Parts('jax_steps', Part('gradients', 'steps that update a model by hand', 'linearize', 'vjp',
                                    any_of=True))
UPDATES = Parts('jax_steps', Part('updates', 'steps that update a model by its library', 'apply_updates'))
_LOOPS = 'jax/_src/lax/control_flow/loops.py'


def _in_a_loop():
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(_LOOPS):
            return True
        frame = frame.f_back
    return False


def _report_frames(number, frame):
    """Once it is compiled a step has no frame that shows it. The outermost frames, without JAX's own."""
    at, found = now(), collections.deque(maxlen=_MAX_FRAMES)
    while frame is not None:
        if '/jax/_src/' not in frame.f_code.co_filename:
            found.append((frame.f_lineno or 0, frame.f_code))
        frame = frame.f_back
    for line, code in found:
        name = getattr(code, 'co_qualname', code.co_name)   # as stacks have it
        put(events.STEP_PLACE, at, number, line, name, code.co_filename)


def _mark(function, sure):
    """`function` is being traced, and updates a model (`sure`), or takes gradients."""
    step = _steps.get(id(function))
    if step is None or step.function() is not function:
        if threading.get_ident() in fitting or _in_a_loop():
            return
        step = _steps[id(function)] = jax_calls.Step(function, _steps)
    elif not (sure or not step.sure) or _in_a_loop():
        return
    step.sure, step.updated = sure, True


# ---- what is traced -------------------------------------------------------------------------------

def _differentiated(token, args, result, succeeded):
    function = native.outermost_jitted()
    if succeeded and function is not None:
        _mark(function, False)
    elif (succeeded and _calls_unseen[0] and len(_eager) < _MAX_PLACES
            and not sys.modules['jax._src.core'].trace_state_clean()):
        known, number = len(_eager), _number_of_place()
        if len(_eager) > known:
            _report_frames(number, sys._getframe(1))


def _begins(args, kwargs):
    return now()


def _updated(at, args, result, succeeded):
    if not succeeded:
        return
    jax_calls.Step.libraries_update = True
    function = native.outermost_jitted()
    if function is not None:
        _mark(function, True)
    elif sys.modules['jax._src.core'].trace_state_clean() and threading.get_ident() not in fitting:
        put(events.OPTIMIZER_STEP, at, now() - at, _number_of_place())
        events.announce('jax')


def _number_of_place():
    """Of two updates in a step each has its own number, though one function may make both. All beyond so many
    places have one number: code that is made for each step is another place each time."""
    place, frame = [], sys._getframe(2)
    while frame is not None:
        place += (frame.f_code, frame.f_lineno)
        frame = frame.f_back
    place = tuple(place)
    if place not in _eager and len(_eager) >= _MAX_EAGER:
        place = ()
    if place not in _eager:
        _eager[place] = jax_calls.next_number()
    return _eager[place]


# ---- what is called -------------------------------------------------------------------------------

def _call_begins(step, args, kwargs, inside):
    if inside:   # compiled before, and now part of another
        _mark(native.outermost_jitted(), step.sure)
    else:
        step.begins(args, kwargs or {})


def _report_place(step):
    """Where it is called from, whenever that changes: a warm-up is left once, two calls alternate."""
    if step.reported == _MAX_PLACES:
        return
    frame = sys._getframe(2)
    place = frame.f_code, frame.f_lineno
    if place != step.place:
        step.place, step.reported = place, step.reported + 1
        _report_frames(step.number, frame)


def _call_done(step, at, args, kwargs, result):
    duration = now() - at
    if not step.begun:   # traced in this call
        step.begins(args, kwargs or {})
    for begin, duration in step.done(at, duration, result):
        _report_place(step)
        put(events.OPTIMIZER_STEP, begin, duration, step.number)
        events.announce('jax')


def _install_calls():
    native_modules = [sys.modules[name] for name in ('jaxlib._jax', 'jaxlib.xla_extension')
                      if name in sys.modules]
    module = next((m for m in native_modules if hasattr(m, 'PjitFunction')), native_modules[0])

    def around(original):
        def never():
            module.PjitFunction.__call__ = original
        put_back.append(never)
        return native.around_jitted(original, _steps, _call_begins, _call_done, never)
    put_back = []
    if CALLS.install(module, {'PjitFunction.__call__': around}) \
            and module.PjitFunction.__flags__ & _VECTORCALL:
        put_back[0]()
        _calls_unseen[0] = True
        report('jax_steps.calls', ABSENT, 'steps that are calls of compiled functions: they show from '
                                          'Python 3.12 on, this is %d.%d' % sys.version_info[:2])


def install(module):
    """`module` is jax's that compiles, or that differentiates, or a library's that updates."""
    if module.__name__ == 'jax._src.pjit':
        return _install_calls()
    if module.__name__ == 'jax._src.interpreters.ad':
        def gradients(function):
            return Around(function, None, _differentiated)
        GRADIENTS.install(module, {'linearize': gradients, 'vjp': gradients})
    else:
        UPDATES.install(module, {'apply_updates': lambda update: Around(update, _begins, _updated)})
