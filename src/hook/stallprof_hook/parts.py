# SPDX-License-Identifier: MIT
"""Which of an adapter's parts a framework's version can have.

A part is one thing that an adapter reports, with the names of the framework that this takes. A name that is
missing, or takes other parameters, costs that part alone: it is not installed, and reported as a source of
the recording (SourceState, src/event/recording_events.h) that is absent: `hook.ADAPTER.PART`.
"""
import sys
import weakref

from .events import SOURCE_STATE, now, put

_ANY_ARGUMENTS = 0x04 | 0x08   # inspect.CO_VARARGS, CO_VARKEYWORDS
ABSENT, PARTIAL = 0, 1   # event/vocabulary.h, Coverage
_NOTHING = object()


class Part:
    """`names`: of the module, as 'Class.method(parameter, ...)': all are there and callable, and have
    those parameters. Without a '(' they may be anything. `held`: attributes of an object that is seen
    only later (Parts.complete). `any_of`: one of the names is enough."""

    def __init__(self, name, lost, *names, held=(), any_of=False):
        self.name, self.lost, self.names, self.held = name, lost, names, held
        self.any_of = any_of


def path_of(name):
    return name.partition('(')[0]


class Parts:
    """The table of one adapter. Later parts may build on the first: where that is missing, none is put in."""

    def __init__(self, adapter, *parts):
        self.adapter, self.parts = adapter, parts
        self._incomplete = weakref.WeakKeyDictionary()   # type -> {part: whether it was found so}

    def install(self, module, around):
        """Puts `around[path](original)` in the place of each name of a part that is whole, for those that
        `around` has; the names of the parts that are."""
        whole = set()
        for part in self.parts:
            lacks = [name for name in part.names if not _has(module, name)]
            if lacks and not (part.any_of and len(lacks) < len(part.names)):
                self._missing(part, module.__name__, lacks)
                continue
            whole.add(part.name)
            for name in part.names:
                path = path_of(name)
                if path in around and name not in lacks:
                    owner, last = _owner(module, path)
                    setattr(owner, last, around[path](vars(owner)[last]))
        return whole

    def own(self, module):
        """Whether a class that the parts name is of this module, not of another that it imports."""
        kinds = (vars(module).get(name.partition('.')[0]) for part in self.parts for name in part.names)
        return any(getattr(kind, '__module__', None) == module.__name__ for kind in kinds)

    def complete(self, name, thing):
        """Whether `thing` has what the part holds it to; asked once for each type."""
        known = self._incomplete.get(type(thing), {})
        return not known[name] if name in known else self.read(name, thing) is not None

    def read(self, name, thing):
        """What `thing` has of what the part holds it to, by name; None: not all. Said once of each type."""
        part = next(p for p in self.parts if p.name == name)
        values = {held: _reach(thing, held) for held in part.held}
        lacks = [held for held, value in values.items() if value is _NOTHING]
        known = self._incomplete.get(type(thing))
        if known is None:
            known = self._incomplete[type(thing)] = {}
        if lacks and not known.get(name):
            self._missing(part, '%s.%s' % (type(thing).__module__, type(thing).__name__), lacks)
        known[name] = bool(lacks)
        return None if lacks else values

    def _missing(self, part, where, lacks):
        report(self.adapter + '.' + part.name, ABSENT, '%s%s has no %s: %s' % (
            where, _version(where), ', '.join(lacks), part.lost))


def report(name, state, why):
    put(SOURCE_STATE, now(), 'hook.' + name, state, why)


def _version(where):
    """Of the package; '' where it is not known yet."""
    package = sys.modules.get(where.partition('.')[0])
    version = getattr(package, '__version__', None) or getattr(
        sys.modules.get(where.partition('.')[0] + '.version'), '__version__', None)
    return ' (%s)' % version if version else ''


def _owner(module, path):
    owner = module
    *classes, last = path.split('.')
    for name in classes:
        owner = vars(owner).get(name)
        if owner is None or not hasattr(owner, '__dict__'):
            return None, last
    return owner, last


def _has(module, name):
    path, call, parameters = name.partition('(')
    owner, last = _owner(module, path)
    if owner is None or last not in vars(owner):
        return False
    if not call:
        return True
    function = vars(owner)[last]
    code = getattr(function, '__code__', None)
    wanted = [p.strip() for p in parameters.rstrip(')').split(',') if p.strip()]
    # One that takes any arguments hands them on, as a decorated one does: they cannot be checked.
    if not callable(function) or code is None or code.co_flags & _ANY_ARGUMENTS:
        return callable(function)
    return set(wanted) <= set(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])


def _reach(thing, path):
    """_NOTHING: it has not. A class of the program's may make a property of it, which is not run where its instances
    hold one, too, and may raise, of some of them."""
    for name in path.split('.'):
        try:
            own = getattr(thing, '__dict__', {})
            thing = own[name] if name in own else getattr(thing, name)
        except Exception:
            return _NOTHING
    return thing
