# SPDX-License-Identifier: MIT
"""Optimizer steps, and `run --set fused=true`. torch 2.x has hooks for all optimizers; in 1.13 each class's
step is wrapped where torch wraps it itself. A step that calls its base class's step is one step."""
import sys
from collections import OrderedDict
from functools import wraps
from threading import get_ident

from . import agent, events, overrides
from .events import Around, ByIdentity, Nested, now, put
from .parts import ABSENT, Part, Parts, report

_LOADERS = 'torch.utils.data.dataloader'
_HOOKS = ('register_optimizer_step_pre_hook(hook)', 'register_optimizer_step_post_hook(hook)')
PARTS = Parts('torch_optim', Part('steps', 'optimizer steps, and so which epochs train', *_HOOKS))
SETTINGS = Parts('torch_optim', Part('settings', 'settings of optimizers', 'Optimizer.__init__(self, params, defaults)'))
BEFORE_2 = Parts('torch_optim', Part('steps', PARTS.parts[0].lost, 'Optimizer._hook_for_profile(self)'))
FASTAI = Parts('torch_optim', Part('fastai', PARTS.parts[0].lost, 'Optimizer.step(self)'))

_FUSED_ON_CPU = 2, 4

_known = ByIdentity()   # optimizer -> its number, {thread: [begin, depth] of a step under way}
_count = [0]


def _known_of(optimizer):
    known = _known.get(optimizer)
    if known is None:
        _count[0] += 1
        if _count[0] == 1:
            _check_loader()
        known = _known.put(optimizer, (_count[0], {}))
    return known


def _check_loader():
    """Whether torch has its DataLoader in the module that the hook waits for; asked when a model is first
    updated: torch has been imported whole by then."""
    kind = getattr(sys.modules.get('torch.utils.data'), 'DataLoader', None)
    if kind is not None and _LOADERS not in sys.modules:
        report('torch_loader.module', ABSENT, 'torch (%s) has its DataLoader in %s, not in %s: batches, and the '
               'time that is waited for them' % (sys.modules['torch.version'].__version__, kind.__module__,
                                                 _LOADERS))


def _put_step(optimizer, at):
    if events.capturing and _captured(optimizer):
        return
    put(events.OPTIMIZER_STEP, at, now() - at, _known_of(optimizer)[0])
    events.updates[0] += 1
    events.announce_rank()


def _captured(optimizer):
    """Whether this step is captured in a CUDA graph and updates nothing yet: each replay does (torch_cuda.py)."""
    captured = events.capturing.get(get_ident())
    if captured is None:
        return False
    try:
        goes_on = sys.modules['torch'].cuda.is_current_stream_capturing()
    except Exception:   # it never began
        goes_on = False
    if goes_on:
        captured.append(_known_of(optimizer)[0])
    else:
        events.capturing.pop(get_ident(), None)
    return goes_on


# ---- 2.x ----------------------------------------------------------------------------------------

def _make_hooks(is_compiling):
    """torch.compile traces these hooks: it folds `is_compiling()` to True and sees no more."""
    traces_gpu = agent.is_wanted()

    def before(optimizer, args, kwargs):
        if is_compiling() or _is_dummy(sys._getframe(1)):
            return None
        steps, thread = _known_of(optimizer)[1], get_ident()
        open_step = steps.get(thread)
        if open_step is not None and _within(sys._getframe(1)):
            open_step[1] += 1
        else:  # none, or one left behind by a step that raised
            overrides.check_first_step()
            if traces_gpu:
                agent.at_step()
            steps[thread] = [now(), 0]
        return None

    def after(optimizer, args, kwargs):
        if is_compiling():
            return
        steps, thread = _known_of(optimizer)[1], get_ident()
        open_step = steps.get(thread)
        if open_step is None:
            return
        if open_step[1]:
            open_step[1] -= 1
            return
        del steps[thread]
        _put_step(optimizer, open_step[0])

    return before, after


def _is_dummy(frame):
    """torch.distributed.checkpoint makes an optimizer's state by a step that changes nothing, within that function;
    between are torch's wrapper of step and a scheduler's."""
    for _ in range(4):
        if frame is None or frame.f_code.co_name == '_init_optim_state':
            return frame is not None
        frame = frame.f_back
    return False


def _within(frame):
    """Whether the code of `frame`, torch's wrapper of step, is also further up the stack."""
    code, frame = frame.f_code, frame.f_back
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def compiling_check():
    """What that version's own optimizers ask: until 2.2 there is no other, and later that one is deprecated. The
    other is read when asked, as torch.compiler is imported after the optimizers."""
    torch = sys.modules['torch']
    if sys.modules['torch.version'].__version__.startswith(('2.0.', '2.1.', '2.2.', '2.3.')):
        return sys.modules['torch._utils'].is_compiling

    def is_compiling():
        return torch.compiler.is_compiling()
    return is_compiling


def _install_hooks(module):
    _hooks[:] = _make_hooks(compiling_check())
    for hook, name, register in zip(
            _hooks, ('_global_optimizer_pre_hooks', '_global_optimizer_post_hooks'),
            (module.register_optimizer_step_pre_hook, module.register_optimizer_step_post_hook)):
        hooks = getattr(module, name, None)
        if type(hooks) is OrderedDict:   # registering takes one of the numbers that all hooks of the program share
            setattr(module, name, _HooksOfAll(hooks, stallprof=hook))
        else:
            register(hook)


class _HooksOfAll(OrderedDict):
    """torch's hooks of all optimizers, and ours. cloudpickle and dill save them with a class of the program's, whose
    step torch has wrapped: to them it is torch's dictionary, without ours."""

    def __reduce_ex__(self, protocol):
        return OrderedDict((name, hook) for name, hook in self.items() if name != 'stallprof').__reduce_ex__(protocol)


# ---- 2.0 to 2.2 -----------------------------------------------------------------------------------

_UNHOOKING = '2.0.', '2.1.', '2.2.'
_hooks = []   # before, after


def _hooked(step):
    before, after = _hooks
    is_compiling = compiling_check()

    @wraps(step)
    def step_with_hooks(self, *args, **kwargs):
        if is_compiling():   # torch.compile traces it
            return step(self, *args, **kwargs)
        before(self, args, kwargs)
        result = step(self, *args, **kwargs)
        after(self, args, kwargs)
        return result
    step_with_hooks.hooked = True   # torch wraps it no more
    step_with_hooks.put_back = True
    return step_with_hooks


def _put_back(token, args, result, succeeded):
    """torch.compile() took torch's wrapper of step, and our hooks with it, off each class of torch.optim."""
    optim = sys.modules.get('torch.optim')
    for kind in list(vars(optim).values()) if _hooks else ():
        if isinstance(kind, type) and issubclass(kind, optim.Optimizer) and kind is not optim.Optimizer \
                and 'step' in vars(kind) and not hasattr(kind.step, 'put_back'):
            kind.step = _hooked(kind.step)


# ---- 1.13 ---------------------------------------------------------------------------------------

_stepping = Nested()   # by optimizer and thread


def _step_begins(args, kwargs):
    if _is_dummy(sys._getframe(1)):
        return None
    overrides.check_first_step()
    if agent.is_wanted():
        agent.at_step()
    return _stepping.begin((id(args[0]), get_ident()))


def _step_done(token, args, result, succeeded):
    at = _stepping.end(token)
    if at is not None and succeeded:
        _put_step(args[0], at)


def _wrap_step(optimizer, args, result, succeeded):
    kind = type(optimizer)
    if type(kind.step) is not Around:
        kind.step = Around(kind.step, _step_begins, _step_done)


def _made(args, kwargs):
    """Before an optimizer takes its parameters: its class has checked its arguments, and made them defaults."""
    wanted = overrides.others['fused']
    if kwargs or len(args) != 3 or 'fused' not in args[2] or args[2].get('differentiable'):
        return None
    version = sys.modules['torch.version'].__version__
    if wanted and tuple(map(int, version.split('.')[:2])) < _FUSED_ON_CPU and not sys.modules['torch'].cuda.is_available():
        overrides.refuse('--set fused=true', 'PyTorch %s has fused updates for GPUs alone' % version)
    file, line, _ = events.user_call('torch')
    overrides.changed('fused', args[2]['fused'], wanted, file, line)
    defaults = dict(args[2], fused=wanted)
    if wanted and defaults.get('foreach'):   # not both
        defaults['foreach'] = None
    return [(args[0], args[1], defaults), {}]


def install(module):
    """`module` is torch.optim.optimizer, or fastai.optimizer, whose class is none of torch's, or what torch.compile()
    begins with; just executed."""
    if module.__name__ == 'torch._dynamo.eval_frame':
        patcher = getattr(module, 'TorchPatcher', None)
        if sys.modules['torch.version'].__version__.startswith(_UNHOOKING) and patcher is not None:
            patcher.patch = staticmethod(Around(patcher.patch, None, _put_back))
        return
    if module.__name__ == 'fastai.optimizer':
        FASTAI.install(module, {'Optimizer.step': lambda step: Around(step, _step_begins, _step_done)})
        return
    if 'fused' in overrides.others:
        SETTINGS.install(module, {'Optimizer.__init__': lambda make: Around(make, _made)})
    if sys.modules['torch.version'].__version__.startswith('1.'):
        BEFORE_2.install(module, {'Optimizer._hook_for_profile': lambda profile: Around(
            profile, lambda args, kwargs: args[0], _wrap_step)})
    elif PARTS.install(module, {}):
        _install_hooks(module)
