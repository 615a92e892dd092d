# SPDX-License-Identifier: MIT
"""What the hook says of optimizers, checkpoints, ranks and evaluations of real programs."""
import tempfile
import textwrap
import unittest

from harness import Run, written
from torch_case import PYTHON, TORCH, Case, script, train


class OtherEvents(Case):
    def test_checkpoints_carry_the_users_line(self):
        run = script('''\
            import io, torch
            torch.save(torch.zeros(3), io.BytesIO())
            ''')
        span, = run.span
        self.assertEqual((span.name, span.file, span.line, span.phase, span.source),
                         ('torch.save', '<string>', 2, 7, 2))

    def test_a_tensor_that_is_pickled_and_one_that_a_data_set_keeps_are_no_checkpoints(self):
        run = script('''\
            import io, pickle, torch
            from torch.utils.data import DataLoader, Dataset
            class Keeps(Dataset):
                def __len__(self): return 4
                def __getitem__(self, i):
                    made = torch.ones(3)
                    torch.save(made, io.BytesIO())
                    return made
            assert pickle.loads(pickle.dumps(torch.ones(3))).sum() == 3
            for batch in DataLoader(Keeps(), 2):
                torch.save(batch, io.BytesIO())
            ''')
        self.assertEqual([(span.name, span.line) for span in run.span], [('torch.save', 11)] * 2)

    def test_optimizers_count_once_a_step(self):
        run = script('''
            import copy, torch
            class Mine(torch.optim.Adam):
                def step(self, closure=None):
                    return super().step(closure)
            p = torch.zeros(2, requires_grad=True)
            a, b = torch.optim.SGD([p], lr=0.1), Mine([p])
            schedule = torch.optim.lr_scheduler.StepLR(a, 1)
            for _ in range(3):
                p.sum().backward(); a.step(); schedule.step()
            b.step()
            c = torch.optim.LBFGS([p])
            c.step(lambda: p.sum())
            d = copy.deepcopy(a); d.step()
            class Broken(torch.optim.SGD):
                def step(self, closure=None): raise ValueError
            e = Broken([p], lr=1)
            for _ in range(2):
                try: e.step()
                except ValueError: pass
            a.step()
            ''')
        self.assertEqual([o.optimizer for o in run.optimizer], [1, 1, 1, 2, 3, 4, 1])

    def test_nothing_is_kept_of_an_optimizer_that_is_gone(self):
        run = script('''
            import gc, torch
            from stallprof_hook import torch_optim
            def broken(): raise ValueError
            for _ in range(3):
                optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1)
                optimizer.step()
                try: optimizer.step(broken)
                except ValueError: pass
            del optimizer
            gc.collect()
            print(len(torch_optim._known._known), [len(cell.cell_contents) for hook in torch_optim._hooks
                                            for cell in hook.__closure__ if isinstance(cell.cell_contents, dict)])
            ''')
        self.assertEqual((run.out, [o.optimizer for o in run.optimizer]), ('0 []\n', [1, 2, 3]))

    def test_a_step_that_only_makes_the_state_of_an_optimizer_is_none(self):
        """As torch.distributed.checkpoint does before it loads one."""
        run = script('''
            import torch
            p = torch.zeros(2, requires_grad=True)
            a = torch.optim.SGD([p], lr=0.1)
            def _init_optim_state(optimizer): optimizer.step()
            p.sum().backward(); _init_optim_state(a); a.step()
            ''')
        self.assertEqual(len(run.optimizer), 1)

    @unittest.skipIf(TORCH.startswith('1.'), '1.13 has no such hooks')
    def test_hooks_that_torch_compile_takes_off_are_put_back(self):
        """As PyTorch 2.0 to 2.2 does."""
        run = script('''
            import sys, types, torch
            from stallprof_hook import torch_optim
            class TorchPatcher:
                @staticmethod
                def patch():
                    for kind in (torch.optim.SGD, torch.optim.Adam):
                        if getattr(kind.step, 'hooked', False): kind.step = kind.step.__wrapped__
                        kind.step.hooked = True
            patched = types.ModuleType('torch._dynamo.eval_frame')
            patched.TorchPatcher = TorchPatcher
            version, torch.version.__version__ = torch.version.__version__, '2.1.2'
            torch_optim.install(patched)
            torch.version.__version__ = version
            p = torch.zeros(2, requires_grad=True)
            early = torch.optim.SGD([p], lr=0.1)
            for _ in range(2): patched.TorchPatcher.patch()
            late = torch.optim.Adam([p], lr=0.1)
            p.sum().backward(); early.step(); late.step(); late.step()
            ''')
        self.assertEqual((run.err, [o.optimizer for o in run.optimizer]), ('', [1, 2, 2]))

    @unittest.skipIf(TORCH.startswith('1.'), '1.13 has no such hooks')
    def test_what_is_saved_with_the_step_of_an_optimizer_has_none_of_ours(self):
        """cloudpickle and dill save a class of the program's with the globals of its step, which torch has wrapped."""
        run = script('''
            import copy, pickle, torch
            from collections import OrderedDict
            from torch.optim.optimizer import register_optimizer_step_post_hook
            p = torch.zeros(2, requires_grad=True)
            a = torch.optim.SGD([p], lr=0.1)
            own = []
            register_optimizer_step_post_hook(lambda *_: own.append(1))
            names = a.step.__func__.__globals__
            hooks = names['_global_optimizer_pre_hooks'], names['_global_optimizer_post_hooks']
            for saved in (copy.copy(hooks[0]), copy.deepcopy(hooks[0]), *(
                    pickle.loads(pickle.dumps(hooks[0], n)) for n in range(6))):
                assert (type(saved), saved) == (OrderedDict, OrderedDict()), saved
            assert [pickle.dumps(hooks[0], n) for n in range(6)] == [pickle.dumps(OrderedDict(), n) for n in range(6)]
            assert len(copy.copy(hooks[1])) == 1
            p.sum().backward(); a.step()
            assert own == [1]
            ''')
        self.assertEqual((run.err, len(run.optimizer)), ('', 1))

    def test_updates_in_the_backward_pass_of_a_gpu_are_of_the_thread_that_waits_for_it(self):
        run = script('''
            import ctypes, os, threading, torch
            p = torch.zeros(2, requires_grad=True)
            a = torch.optim.SGD([p], lr=0.1)
            def update(name):
                ctypes.CDLL(None).prctl(15, name)   # PR_SET_NAME
                p.sum().backward(); a.step()
            for name in (b'pt_autograd_0', b'another'):
                thread = threading.Thread(target=update, args=(name,))
                thread.start()
                thread.join()
            ''')
        self.assertEqual([o.tid == o.pid for o in run.optimizer], [True, False])

    def test_threads_that_step_one_optimizer_at_once_count_each(self):
        run = script('''
            import threading, torch
            both = threading.Barrier(2)
            class Mine(torch.optim.SGD):
                def step(self, closure=None):
                    both.wait()
                    super().step(closure)
                    both.wait()
            p = torch.zeros(2, requires_grad=True)
            p.sum().backward()
            a = Mine([p], lr=0.1)
            threads = [threading.Thread(target=a.step) for _ in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            ''')
        self.assertEqual(len(run.optimizer), 2)

    def test_an_update_that_is_captured_in_a_graph_is_one_at_each_replay(self):
        run = script('''
            import torch, torch.cuda.graphs
            Graph, capturing = torch.cuda.graphs.CUDAGraph, [False]
            def switch(on): return lambda self, *more, **named: capturing.__setitem__(0, on)
            for name, call in ('capture_begin', switch(True)), ('capture_end', switch(False)), ('replay', switch(False)):
                setattr(torch._C._CUDAGraph, name, call)
            torch.cuda.is_current_stream_capturing = lambda: capturing[0]
            p = torch.zeros(2, requires_grad=True)
            a = torch.optim.SGD([p], lr=0.1)
            p.sum().backward(); a.step()
            updates, other = object.__new__(Graph), object.__new__(Graph)
            updates.capture_begin(); a.step(); updates.capture_end()
            other.capture_begin(); other.capture_end()
            for _ in range(3): other.replay(); updates.replay()
            other.capture_begin(); capturing[0] = False   # given up without an end
            a.step()
            ''')
        self.assertEqual([o.optimizer for o in run.optimizer], [1] * 5)

    def test_a_rank_is_reported_once_when_the_model_is_first_updated(self):
        program = textwrap.dedent('''
            import torch
            p = torch.zeros(2, requires_grad=True)
            a = torch.optim.SGD([p], lr=0.1)
            for _ in range(3):
                p.sum().backward(); a.step()
            ''')
        def reported(**environment):
            run = Run([PYTHON, '-c', program], environment=environment)
            self.assertEqual((run.status, len(run.optimizer)), (0, 3))
            return [f.rank for f in run.framework if f.rank >= 0]
        self.assertEqual(reported(RANK='3', WORLD_SIZE='4'), [3])
        self.assertEqual(reported(RANK='0', WORLD_SIZE='1'), [])
        self.assertEqual(reported(RANK='first', WORLD_SIZE='4'), [])

    def test_every_process_with_torch_says_so(self):
        run = train('--workers', 2, '--epochs', 1)
        self.assertEqual(len({f.pid for f in run.framework}), 3)
        self.assertEqual({f.version for f in run.framework}, {run.own['torch']})


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Evaluation(unittest.TestCase):
    """From eval() to train(), by the program's own code."""

    HEAD = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
rule = torch.optim.SGD(model.parameters(), 0.1)
def update():
    model(torch.ones(3, 2)).mean().backward()
    rule.step()
"""

    def spans(self, text, path=()):
        run = Run([PYTHON, '-c', self.HEAD + text], path_after=path)
        self.assertEqual((run.status, run.err), (0, ''))
        return [(span.name, span.phase, span.file) for span in run.span]

    def test_each_is_a_span(self):
        self.assertEqual(self.spans("""
for _ in range(3):
    update()
    model.eval()
    model.eval()
    model(torch.ones(3, 2))
    model.train()
"""), [('evaluation', 7, '<string>')] * 3)

    def test_one_that_data_are_made_in_is_none(self):
        """Rollouts, or text that is then rewarded: what updates learn from comes before them."""
        self.assertEqual(self.spans("""
for _ in range(3):
    model.eval()
    model(torch.ones(3, 2))
    model.train()
    update()
"""), [])
        self.assertEqual(self.spans("""
def collect_rollouts():
    model.eval()
    model(torch.ones(3, 2))
    model.train()
def evaluate():
    generate()
def generate():
    model.eval()
    model.train()
def trainAndEvaluate():
    model.eval()
    model(torch.ones(3, 2))
    model.train()
for _ in range(3):
    update()
    collect_rollouts()
generate()
evaluate()
model.eval()
model.train()
trainAndEvaluate()
"""), [('evaluation', 7, '<string>')] * 3)

    def test_one_before_the_first_update_has_the_name_of_evaluation_or_a_loader(self):
        for evaluate in """
def estimate_loss():
    model.eval()
    model(torch.ones(3, 2))
    model.train()
""", """
class Trainer:
    def evaluateModel(self):
        self.run()
    def run(self):
        model.eval()
        model(torch.ones(3, 2))
        model.train()
estimate_loss = Trainer().evaluateModel
""", """
loader = torch.utils.data.DataLoader(torch.ones(3, 2))
def estimate_loss():
    main()
def main():
    model.eval()
    for batch in loader:
        model(batch)
    model.train()
""":
            self.assertEqual(self.spans(evaluate + """
for _ in range(3):
    estimate_loss()
    update()
"""), [('evaluation', 7, '<string>')] * 3, evaluate)

    def test_that_of_a_module_which_keeps_its_mode_elsewhere(self):
        """As torch.compile's module does, and a scripted one."""
        self.assertEqual(self.spans("""
class Compiled(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.__dict__.pop('training', None)
        self.inner = inner
    training = property(lambda self: self.inner.training if 'inner' in self._modules else True,
                        lambda self, mode: None)
import warnings
warnings.simplefilter('ignore')   # torch.jit is deprecated
compiled = Compiled(model)
update()
compiled.eval()
compiled.train()
scripted = torch.jit.script(model)
scripted.eval()
scripted.train()
"""), [('evaluation', 7, '<string>')] * 2)

    def test_that_of_a_program_that_is_installed_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            run = Run([PYTHON, written(folder + '/site-packages/mine/__main__.py',
                                       self.HEAD + 'update()\nmodel.eval()\nmodel.train()\n')])
            self.assertEqual((run.status, run.err), (0, ''))
            self.assertEqual([span.name for span in run.span], ['evaluation'])

    @unittest.skipIf(TORCH.startswith('1.'), '1.13 compiles no such function')
    def test_that_of_a_function_that_torch_compile_traces(self):
        self.assertEqual(self.spans("""
import inspect, logging
logging.disable()   # torch may say that triton is missing
import torch._dynamo
train = torch.nn.Module.train
@torch.compile(backend='eager', fullgraph=True)
def step(x):
    model.train()
    return model(x).sum()
update()
model.eval()
for _ in range(2):
    step(torch.ones(3, 2))
assert model.training and model[0].training
model.train()
model.eval()
model.train(mode=True)
assert inspect.isfunction(train) and train.__defaults__ == (True,) and str(inspect.signature(train)).startswith('(self')
"""), [('evaluation', 7, '<string>')] * 2)

    def test_with_an_update_it_is_none(self):
        self.assertEqual(self.spans('model.eval()\nupdate()\nmodel.train()\n'), [])

    def test_one_after_each_update_and_a_second_now_and_then(self):
        self.assertEqual(len(self.spans("""
for step in range(30):
    update()
    for _ in range(2 if step % 2 else 1):
        model.eval()
        model.train()
""")), 45)

    def test_a_model_that_acts_between_its_updates_is_not_evaluated_there(self):
        """Reinforcement learning: a few may come until that is known."""
        self.assertEqual(len(self.spans("""
update()
for step in range(100):
    for _ in range(4):
        model.eval()
        model.train()
    update()
""")), 20)

    def test_whether_a_file_is_installed_is_found_once(self):
        """A program that acts with its model switches modes at every step, deep in its stack."""
        self.assertEqual(self.spans("""
import os
update()
def act(depth):
    if depth:
        return act(depth - 1)
    model.eval()
    model.train()
asked, dirname = [0], os.path.dirname
def counted(path):
    asked[0] += 1
    return dirname(path)
os.path.dirname = counted
for _ in range(100):
    act(30)
os.path.dirname = dirname
assert asked[0] < 500, asked
"""), [])

    def test_a_long_one_is_evaluation_however_few_updates_there_are(self):
        self.assertEqual(len(self.spans("""
import time
update()
for _ in range(30):
    model.eval()
    model.train()
model.eval()
time.sleep(1.1)
model.train()
model.eval()
model.train()
""")), 21)

    def test_that_of_a_library_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            written(folder + '/site-packages/library.py', 'def evaluate(model): model.eval(); model.train()\n')
            self.assertEqual(self.spans('import library\nlibrary.evaluate(model)\n',
                                        (folder + '/site-packages',)), [])


if __name__ == '__main__':
    unittest.main()
