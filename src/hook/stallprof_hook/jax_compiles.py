# SPDX-License-Identifier: MIT
"""What JAX compiles, and when: tracing, lowering and compiling of a function, as JAX itself times each
of them, with the user's line. Of one that is compiled again: which argument is of another shape.

Arguments are read from the frame of JAX's own that has them, only while it compiles, and only what
arrays of NumPy and JAX say of themselves; no code of the program runs.
"""
import sys
import weakref

from . import events
from .events import now, put
from .jax_calls import _leaves
from .parts import Part, Parts

PARTS = Parts('jax_compiles', Part('compilations', 'when functions are compiled, and for which shapes',
                                   'record_event_duration_secs(event, duration)'))
_COMPUTE = 4   # event/vocabulary.h, Phase
_NAMES = {'/jax/core/compile/jaxpr_trace_duration': 'jax.trace',
          '/jax/core/compile/jaxpr_to_mlir_module_duration': 'jax.lower',
          '/jax/core/compile/backend_compile_duration': 'jax.compile'}
_KNOWN = ('numpy', 'jax', 'jaxlib', 'ml_dtypes')   # packages whose arrays are asked for their shape
_MAX_FUNCTIONS = 1000
_MAX_TEXT = 80

_compiled = {}   # (function's name, file, line) -> what it was compiled for


def _described(value):
    """Of what a function is compiled for: an array's kind and shape, or a value that says what to do."""
    if type(value).__module__.partition('.')[0] in _KNOWN:
        kind, shape = getattr(value, 'dtype', None), getattr(value, 'shape', None)
        if kind is not None and isinstance(shape, tuple):   # a kind of its own, float32, has a shape alone
            return '%s[%s]' % (kind, ','.join(map(str, shape)))
    if type(value) in (bool, int):
        return repr(value)[:_MAX_TEXT]
    return type(value).__name__   # a text may be a secret


class _Call:
    """What a compiled function was called with."""

    def __init__(self, frame):
        own = frame.f_locals
        function = own.get('fun')
        code = getattr(function, '__code__', None)
        names = code.co_varnames[:code.co_argcount] if code is not None else ()
        self.leaves = {}
        for i, value in enumerate(own.get('args') or ()):
            name = names[i] if i < len(names) else 'argument %d' % i
            self.leaves[name] = [_described(leaf) for leaf in _leaves(value, [])]
        for name, value in (own.get('kwargs') or {}).items():
            self.leaves[name] = [_described(leaf) for leaf in _leaves(value, [])]
        try:
            self.function = weakref.ref(function)
        except TypeError:
            self.function = lambda: function

    def changed(self, before):
        """In words; arrays first, as a number may be another in each call without being compiled for."""
        arrays, values = [], []
        for name, leaves in self.leaves.items():
            was = before.leaves.get(name, [])
            if len(was) != len(leaves):
                arrays.append('%s of %d arrays after %d' % (name, len(leaves), len(was)))
                continue
            new = [(a, b) for a, b in zip(was, leaves) if a != b]
            if new:
                kind = arrays if '[' in new[0][1] else values
                kind.append('%s %s after %s' % (name, new[0][1], new[0][0]))
        if not arrays and self.function() is not before.function():
            return 'a new function each time'
        return (arrays or values or [''])[0]


def _calling():
    """The frame in which JAX has the arguments of the outermost call that it compiles for; or None."""
    frame, found = sys._getframe(2), None
    while frame is not None:
        if frame.f_code.co_name == 'cache_miss':
            found = frame
        frame = frame.f_back
    return found


def _change(name, file, line):
    frame, key = _calling(), (name, file, line)
    if frame is None or (key not in _compiled and len(_compiled) >= _MAX_FUNCTIONS):
        return ''
    call, before = _Call(frame), _compiled.get(key)
    _compiled[key] = call
    return call.changed(before) if before is not None else ''


def _plain(name):
    """A function's name as the program has it: JAX calls what is lowered 'jit(name)', or 'jit_name'."""
    if name.startswith('jit(') and name.endswith(')'):
        name = name[4:-1]
    elif name.startswith('jit_'):
        name = name[4:]
    return name[:_MAX_TEXT]


def _begins(args, kwargs):
    """JAX calls this when the time that it says is over."""
    at, what = now(), _NAMES.get(args[0])
    if what is None or not sys.modules['jax._src.core'].trace_state_clean():
        return
    duration = int(args[1] * 1e9)
    file, line = events.user_line('jax', 'jaxlib')
    name = _plain(str((kwargs or {}).get('fun_name', '')))
    text = '%s %s' % (what, name)
    if what == 'jax.compile':
        change = _change(name, file, line)
        text += ': ' + change if change else ''
    put(events.PHASE_SPAN, at - duration, duration, _COMPUTE, events.BY_HOOK, text, file, line)
    events.announce('jax')


def install(module):
    """`module` is jax's that hands on how long what took, just executed: others take it from there."""
    PARTS.install(module, {'record_event_duration_secs': lambda record: events.Around(record, _begins)})
