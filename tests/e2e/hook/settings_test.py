# SPDX-License-Identifier: MIT
"""Settings of real DataLoaders, changed by the hook: what the program and PyTorch see of them."""
import json
import os
import sys
import textwrap
import unittest

from harness import Run, torch_of

PYTHON = os.environ.get('STALLPROF_TORCH', sys.executable)
TORCH = torch_of(PYTHON)[0]
HEAD = '''
import json, torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
class Numbers(Dataset):
    def __len__(self): return 40
    def __getitem__(self, i): return torch.tensor([float(i)])
def train(loader, epochs=1):
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    seen = []
    for _ in range(epochs):
        for batch in loader:
            seen += batch.flatten().tolist()
            model(batch).mean().backward()
            optimizer.step()
    return seen
'''


def script(text, *settings):
    return Run([PYTHON, '-c', HEAD + textwrap.dedent(text)],
               environment={'STALLPROF_OVERRIDES': ''.join(s + '\n' for s in settings)} if settings else {})


def line_of(text, part):
    """The line of `-c` that holds `part`."""
    return next(i for i, line in enumerate((HEAD + textwrap.dedent(text)).split('\n'), 1) if part in line)


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Settings(unittest.TestCase):
    def applied(self, run):
        self.assertEqual(run.status, 0, run.err)
        return {s.name: (s.before, s.after) for s in run.setting}

    def refused(self, run, *parts):
        """The program ended with one line of ours, before its first step."""
        self.assertEqual(run.status, 125, run.err)
        lines = [line for line in run.err.splitlines() if line.startswith('stallprof: ')]
        self.assertEqual(len(lines), 1, run.err)
        for part in parts:
            self.assertIn(part, lines[0])
        self.assertEqual(run.optimizer, [])

    def test_workers_are_given_and_the_order_of_samples_is_pytorchs(self):
        """The same; with workers that persist in the first epoch alone, as PyTorch then draws a seed for the
        loader, not for each epoch. The report says so."""
        text = '''
            torch.manual_seed(3)
            loader = DataLoader(Numbers(), batch_size=4, shuffle=True)
            print(json.dumps(train(loader, 2)))'''
        plain, changed, lasting = (script(text, *settings) for settings in (
            (), ('num_workers=2',), ('num_workers=2', 'persistent_workers=true')))
        self.assertEqual(self.applied(changed), {'num_workers': ('0', '2')})
        self.assertEqual(set(self.applied(lasting)), {'num_workers', 'persistent_workers'})
        self.assertEqual((changed.loader[0].workers, lasting.loader[0].persistent), (2, 1))
        self.assertEqual((len(changed.worker), len({w.pid for w in lasting.worker})), (4, 2))
        before, same, other = (json.loads(run.out) for run in (plain, changed, lasting))
        self.assertEqual(same, before)
        self.assertEqual(other[:40], before[:40])
        self.assertNotEqual(other[40:], before[40:])
        self.assertEqual(sorted(other[40:]), sorted(before[40:]))

    def test_arguments_given_by_place_are_replaced(self):
        run = script('''
            loader = DataLoader(Numbers(), 4, False, None, None, 3)
            train(loader)''', 'num_workers=1')
        self.assertEqual(self.applied(run), {'num_workers': ('3', '1')})
        self.assertEqual(run.loader[0].workers, 1)

    def test_a_dictionary_of_the_program_stays_as_it_is(self):
        run = script('''
            options = {'batch_size': 4}
            train(DataLoader(Numbers(), **options))
            print(options)''', 'num_workers=1')
        self.applied(run)
        self.assertEqual(run.out.strip(), "{'batch_size': 4}")

    def test_only_the_loader_of_the_line_is_changed(self):
        text = '''
            other = DataLoader(Numbers(), batch_size=8)
            wanted = DataLoader(Numbers(), batch_size=4)
            print(other.num_workers, wanted.num_workers)
            train(wanted)'''
        run = script(text, 'num_workers=2', 'loader=<string>:%d' % line_of(text, 'wanted ='))
        self.assertEqual(self.applied(run), {'num_workers': ('0', '2')})
        self.assertEqual(run.out.split(), ['0', '2'])

    def test_a_loader_that_is_made_nowhere_ends_the_program_before_its_first_step(self):
        text = 'train(DataLoader(Numbers(), batch_size=4))'
        run = script(text, 'num_workers=2', 'loader=<string>:7')
        self.refused(run, '--set num_workers', '<string>:7', '<string>:%d' % line_of(text, 'train(D'))

    def test_a_file_of_another_directory_is_another(self):
        text = """
            exec(compile('loader = DataLoader(Numbers(), batch_size=4)', '/else/sub/lo.py', 'exec'))
            print(loader.num_workers)
            train(loader)"""
        self.assertEqual(script(text, 'num_workers=2', 'loader=./sub/lo.py:1').out, '2\n')
        self.refused(script(text, 'num_workers=2', 'loader=../lo.py:1'), '--set num_workers', '/else/sub/lo.py:1')

    def test_a_program_without_a_loader_is_refused(self):
        self.refused(script('train([torch.ones(4, 1)])', 'num_workers=2'), 'no DataLoader')

    @unittest.skipUnless(TORCH.startswith('1.'), 'later ones have it')
    def test_an_argument_that_this_version_lacks_is_refused(self):
        self.refused(script('train(DataLoader(Numbers(), batch_size=4))', 'in_order=false'),
                     '--set in_order=false', 'PyTorch 1.')

    def test_what_needs_workers_is_refused_where_there_are_none(self):
        self.refused(script('train(DataLoader(Numbers(), batch_size=4))', 'persistent_workers=true'),
                     '--set persistent_workers=true', 'no workers')
        self.applied(script('train(DataLoader(Numbers(), batch_size=4))', 'prefetch_factor=4', 'num_workers=1'))

    def test_with_the_workers_goes_what_needs_them(self):
        run = script('''
            train(DataLoader(Numbers(), batch_size=4, num_workers=2, prefetch_factor=4, timeout=60,
                             persistent_workers=True, multiprocessing_context='fork'))''', 'num_workers=0')
        self.assertEqual(set(self.applied(run)), {'num_workers', 'prefetch_factor', 'timeout', 'persistent_workers',
                                                  'multiprocessing_context'})
        self.assertEqual(run.loader[0].workers, 0)

    def test_memory_that_cannot_be_pinned_is_refused(self):
        run = script('''
            import sys
            if torch.cuda.is_available(): sys.exit(77)
            train(DataLoader(Numbers(), batch_size=4))''', 'pin_memory=true')
        if run.status == 77:
            self.skipTest('there is a device')
        self.refused(run, '--set pin_memory=true', 'no device')

    OPTIMIZERS = '''
            parameters = list(torch.nn.Linear(3, 1).parameters())
            made = [torch.optim.Adam(parameters, lr=1e-3), torch.optim.SGD(parameters, lr=1e-3, foreach=True),
                    torch.optim.Rprop(parameters)]
            print([optimizer.param_groups[0].get('fused') for optimizer in made])
            for optimizer in made:
                sum(p.sum() for p in parameters).backward()
                optimizer.step()'''

    @unittest.skipIf(TORCH.startswith('1.'), 'PyTorch 1.x fuses on GPUs alone')
    def test_optimizers_that_can_be_fused_are(self):
        run = script(self.OPTIMIZERS, 'fused=true')
        self.assertEqual(self.applied(run), {'fused': ('None', 'True')})
        self.assertEqual({s.line for s in run.setting}, {line_of(self.OPTIMIZERS, 'made = ')})
        self.assertEqual(run.out.strip(), '[True, True, None]')
        self.assertEqual(len(run.optimizer), 3)

    @unittest.skipUnless(TORCH.startswith('1.'), 'later ones fuse on CPUs, too')
    def test_optimizers_of_a_pytorch_that_fuses_on_gpus_alone_are_refused(self):
        self.refused(script(self.OPTIMIZERS, 'fused=true'), '--set fused=true', 'GPUs alone')

    def test_a_program_without_such_an_optimizer_is_refused(self):
        self.refused(script('''
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.Rprop(model.parameters())
            model(torch.ones(4, 3)).mean().backward()
            optimizer.step()''', 'fused=true'), 'no optimizer of PyTorch that has a fused update')

    def test_threads_that_the_program_sets_itself_are_changed(self):
        text = '''
            torch.set_num_threads(3)
            train(DataLoader(Numbers(), batch_size=4, num_workers=1))
            print(torch.get_num_threads())'''
        for settings, threads in ((), '3'), (('threads=1',), '1'):
            run = script(text, *settings)
            self.assertEqual(self.applied(run), {'torch.set_num_threads': ('3', threads)})
            self.assertEqual(run.setting[0].line, line_of(text, 'set_num_threads'))
            self.assertEqual(run.out.strip(), threads)

    def test_threads_of_workers_are_not_the_steps(self):
        run = script('''
            def one(worker): torch.set_num_threads(2)
            train(DataLoader(Numbers(), batch_size=4, num_workers=1, worker_init_fn=one))''', 'threads=1')
        self.assertEqual(self.applied(run), {})

    def test_threads_that_a_library_sets_are_not_the_programs(self):
        """PyTorch's own call in a thread that pins memory, and one of the standard library's for the program."""
        run = script('''
            import queue, threading
            from concurrent.futures import ThreadPoolExecutor
            from torch.utils.data._utils.pin_memory import _pin_memory_loop
            done = threading.Event()
            done.set()
            try:
                _pin_memory_loop(queue.Queue(), queue.Queue(), 0, done, 'cuda')
            except (RuntimeError, AssertionError, AttributeError):   # no device, or a build for none
                print(torch.get_num_threads())
            with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                pool.submit(int).result()''')
        self.assertEqual((self.applied(run), run.out.strip()), ({}, '1'))

    def test_threads_that_are_set_for_each_part_of_a_step_are_reported_once(self):
        run = script('''
            for threads in list(range(1, 20)) * 2:
                torch.set_num_threads(threads)''')
        self.assertEqual([s.before for s in run.setting], [str(n) for n in range(1, 9)])

    def test_threads_that_are_set_unseen_are_refused(self):
        text = 'torch._C.set_num_threads(%d); train(DataLoader(Numbers(), batch_size=4))'
        self.refused(script(text % 3, 'threads=1'), '--threads 1', 'with 3 threads')
        self.applied(script(text % 1, 'threads=1'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
