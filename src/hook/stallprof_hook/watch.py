# SPDX-License-Identifier: MIT
"""What happens when a watched module is imported: its loader is replaced until the module has been
executed, then its adapter is put in. The module itself never sees another loader.

torch.compile leaves the hook alone: what runs of it between two compiled graphs is neither traced nor counted.
What a compiled graph itself calls is traced all the same (torch_optim knows how)."""
import sys

from . import ADAPTERS

_waiting = dict(ADAPTERS)
_reported = []
_ABSENT = 0   # event/vocabulary.h, Coverage


def marked_spec(watcher, name, path, target):
    """The spec the other finders find, marked if this is the module's first import."""
    spec = _spec_of_others(watcher, name, path, target)
    if spec is not None and name in _waiting and hasattr(spec.loader, 'exec_module'):
        try:
            _mark(watcher, spec)
        except Exception:  # no extension for this interpreter, or a loader of an unknown kind
            _remove(watcher)
    return spec


def adapt_loaded(watcher):
    from . import events
    for name in list(_waiting):
        if name in sys.modules and events.ready():
            _adapt(watcher, sys.modules[name])


def _spec_of_others(watcher, name, path, target):
    for finder in list(sys.meta_path):
        find = getattr(finder, 'find_spec', None)
        spec = find(name, path, target) if find and finder is not watcher else None
        if spec is not None:
            return spec
    return None


def _mark(watcher, spec):
    from . import events
    if not events.ready():
        return _remove(watcher)
    loader = spec.loader

    def begin(args, kwargs):
        module = args[0]
        module.__spec__.loader = module.__loader__ = loader
        return module

    def end(module, args, result, succeeded):
        if succeeded:
            _adapt(watcher, sys.modules.get(module.__name__, module))

    spec.loader = _MarkedLoader(loader, events.Around(loader.exec_module, begin, end))


class _MarkedLoader:
    """Copies and pickles of it are the loader's own: importlib.util.find_spec gives it to the program."""

    def __init__(self, loader, exec_module):
        self._loader, self.exec_module = loader, exec_module

    def __getattr__(self, name):
        if name == '_loader':   # not made yet
            raise AttributeError(name)
        return getattr(self._loader, name)

    @property
    def __class__(self):
        return type(self._loader)

    def __reduce_ex__(self, protocol):
        return self._loader.__reduce_ex__(protocol)


def _adapt(watcher, module):
    adapter = _waiting.pop(module.__name__, None)
    ours = _ours(adapter) if adapter is not None else None
    if ours is not None:
        ours.install(module)
        _leave_out(ours)
        if __package__ + '.overrides' in sys.modules:
            _leave_out(sys.modules[__package__ + '.overrides'])
    if not _waiting:
        _remove(watcher)


def _ours(name):
    """The adapter; None: it could not be imported. The program's own finder or audit hook may refuse it, which is no
    trouble of the import under way. (Of a type that is not built in, or where a time is up, a signal handler may have
    raised it.)"""
    try:
        __import__(__package__ + '.' + name)
    except Exception as error:
        if type(error).__module__ != 'builtins' or isinstance(error, TimeoutError):
            raise
        from . import events   # by now
        events.put(events.SOURCE_STATE, events.now(), 'hook.' + name, _ABSENT, 'it could not be imported: %s: %s' % (
            type(error).__name__, error))
        return None
    return sys.modules[__package__ + '.' + name]


def _leave_out(module):
    """Marks every function of `module`, an adapter of ours; they call no code of the program."""
    skip = _skip()
    if skip:
        for value in list(vars(module).values()):
            if isinstance(value, type(_leave_out)) and value.__module__ == module.__name__:
                _each(value.__code__, skip)


def _skip():
    """torch's own way to leave a code object out; None where it has no compiler."""
    dynamo = getattr(sys.modules.get('torch._C'), '_dynamo', None)
    frames = getattr(dynamo, 'eval_frame', None)
    if hasattr(frames, 'set_code_exec_strategy'):  # from 2.7
        never = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
        return lambda code: frames.set_code_exec_strategy(code, never)
    skip = getattr(frames, 'skip_code', None)
    if dynamo is not None and skip is None and not _reported:
        from .parts import ABSENT, report
        _reported.append(True)
        report('torch_compile.leave_out', ABSENT, 'torch._C._dynamo has no way known to leave code out: graphs '
                                                  'may break at the hook where torch.compile traces it')
    return skip


def _each(code, act):
    act(code)
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            _each(constant, act)


def _remove(watcher):
    _waiting.clear()
    if watcher in sys.meta_path:
        sys.meta_path.remove(watcher)
