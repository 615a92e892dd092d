# SPDX-License-Identifier: MIT
"""Which calls of a compiled JAX function are steps.

Where a batch goes through the function several times, its first call is the step; where the data never
change (all of them, each time) every call is one. To find out, a function's first calls are inspected:
which arguments are results of the call before (its state), and whether the rest, the data, are the
very objects of the call before. Objects are only compared, and held weakly; no code of theirs runs.

Arguments that say what is done (`train=False`) may be compiled apart. A call with others than those
that were seen to update is a step only if nothing was compiled for it, then or earlier.
"""
import weakref
from functools import partial

_KEPT = 20          # calls in a row whose results went into the next
_INSPECTED = 64     # calls, where the data do not change that often
_GIVEN_UP = 256     # calls with no such row
_CHANGES = 3        # of the data, that show how many calls a batch has
_MAX_LEAVES = 512  # of one argument
_SAYING = (bool, str, type(None))
_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_count = [1 << 17]  # away from the numbers of tf_steps


def next_number():
    _count[0] += 1
    return _count[0]


def _leaves(value, into):
    """What is in lists, tuples and dictionaries, at most so many."""
    if len(into) >= _MAX_LEAVES:
        return into
    if type(value) is dict:
        value = value.values()
    elif type(value) is not list:
        if not isinstance(value, tuple):
            into.append(value)
            return into
        value = tuple.__iter__(value)
    for item in value:
        _leaves(item, into)
    return into


def _name(leaf):
    """To know it again, without holding it."""
    if type(leaf) in _PLAIN:
        return type(leaf), leaf
    try:
        return weakref.ref(leaf)
    except TypeError:
        return None


def _is(name, leaf):
    if isinstance(name, weakref.ref):
        return name() is leaf
    return name is not None and name == (type(leaf), leaf)


def _compiled(function):
    try:
        return function._cache_size()
    except Exception:   # another version's
        return None


class Step:
    """A compiled function that may be a step of training. A program may have several, one of each
    network of its; `sure`: a library updated a model in it."""
    libraries_update = False   # somewhere in this process

    __slots__ = ('function', 'number', 'sure', 'decided', 'data', 'same', 'names', 'results', 'calls',
                 'held', 'state', 'fed', 'steps', 'begun', 'updated', 'kinds', 'kind',
                 'compiled', 'alone', 'place', 'reported')

    def __init__(self, function, steps):
        key = id(function)
        self.function = weakref.ref(function, partial(steps.pop, key))
        self.steps, self.number = steps, next_number()
        self.sure = self.decided = self.begun = self.alone = False
        self.data = None        # once decided: places of the data; None: every call is a step
        self.same = set()       # places whose leaves are those of the call before
        self.names = {}         # place -> names of its leaves in the call before
        self.results = {}       # id(leaf) -> weak reference, of the call before
        self.kinds = {}         # what arguments say -> whether such a call updates
        self.kind = self.compiled = None   # of the call under way; what was compiled before it
        self.updated = True     # an update was traced in it
        self.fed = False        # that call's results went into this one
        self.calls = 0
        self.place, self.reported = None, 0   # where it was called from last; how often that changed
        self.held = []          # (at, duration, same), of calls that may turn out to be steps
        self.state = set()      # places that held results of the call before

    # A place of an argument is its index (the function itself is 0) or its name.
    def begins(self, args, kwargs):
        self.kind = tuple([a for a in args if type(a) in _SAYING])
        if kwargs:
            self.kind += tuple([(n, a) for n, a in kwargs.items() if type(a) in _SAYING])
        if self.begun and self.kind not in self.kinds:
            self.updated, self.compiled = False, _compiled(args[0])
        self.begun = True
        if not self.kinds.get(self.kind, True):
            return
        if self.decided:
            if self.data is not None:
                self._compare({p: args[p] if type(p) is int else kwargs[p] for p in self.data
                               if p in kwargs or (type(p) is int and p < len(args))})
            return
        places = dict(enumerate(args))
        del places[0]
        places.update(kwargs)
        back = 0
        for place, leaves in self._compare(places).items():
            found = sum(id(leaf) in self.results and self.results[id(leaf)]() is leaf
                        for leaf in leaves)
            back += found
            if found:
                self.state.add(place)
        self.fed = back * 2 >= len(self.results) > 0
        self.results = {}

    def _compare(self, places):
        leaves = {place: _leaves(value, []) for place, value in places.items()}
        self.same = {place for place, these in leaves.items()
                     if place in self.names and len(self.names[place]) == len(these)
                     and all(map(_is, self.names[place], these))}
        self.names = {place: [_name(leaf) for leaf in these] for place, these in leaves.items()}
        return leaves

    def done(self, at, duration, result):
        """(begin, duration) of the calls that are now known to be steps."""
        if self.kind not in self.kinds:
            compiled = _compiled(self.function())
            if not self.kinds:   # the first call known of: others may have been compiled before
                self.alone = compiled in (1, None)
            self.kinds[self.kind] = self.updated or (self.alone and compiled == self.compiled)
        if not self.kinds[self.kind]:
            return ()
        if self.decided:
            return () if self.data and self.same >= self.data else ((at, duration),)
        self.calls += 1
        if not self.sure and not self.fed:
            self.held.clear()
        self.held.append((at, duration, self.same))
        for leaf in _leaves(result, []):
            name = _name(leaf)
            if isinstance(name, weakref.ref):
                self.results[id(leaf)] = name
        return self._decide()

    def _decide(self):
        data = set(self.names) - self.state
        new = [not data or not same >= data for _, _, same in self.held]
        enough = len(new) >= _KEPT and sum(new[1:]) >= _CHANGES
        if not self.sure and (Step.libraries_update or self.calls >= _GIVEN_UP):
            self.steps.pop(id(self.function()), None)   # gradients of something else
            return ()
        if not enough and len(new) < _INSPECTED:
            return ()
        again = sum(new[1:]) >= _CHANGES and not all(new[1:])
        steps = [call[:2] for call, first in zip(self.held, new) if first or not again]
        self._end(data if again else None)
        return steps

    def _end(self, data):
        self.decided, self.data = True, data
        self.held, self.results, self.state = [], {}, set()
        if data is None:
            self.names, self.same = {}, set()
