# SPDX-License-Identifier: MIT
"""Nothing of ours shows in the program: not when it fails, forks, closes everything or is
interrupted, and not when the event memory is missing, garbage, full or closed."""
import os
import py_compile
import re
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
import unittest

from harness import HOOK, MEMORY_BYTES, RING, SLOTS, EventMemory, Run
from torch_case import PYTHON, TORCH, TRAIN

FAILING = '''
import sys, torch, warnings
from torch.utils.data import DataLoader, Dataset
class Broken(Dataset):
    def __len__(self): return 9
    def __getitem__(self, i):
        if i == 5: raise ValueError('sample %d is broken' % i)
        return i
for batch in DataLoader(Broken(), batch_size=2, num_workers=int(sys.argv[1])):
    print(batch.tolist())
'''


def run_twice(text, *arguments):
    """(with the hook, without): status, output and errors of the same program."""
    with tempfile.NamedTemporaryFile('w', suffix='.py') as file:
        file.write(textwrap.dedent(text))
        file.flush()
        command = [PYTHON, file.name] + list(arguments)
        hooked = Run(command)
        env = {k: v for k, v in os.environ.items() if k not in ('STALLPROF_EVENTS', 'PYTHONPATH')}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pids = re.compile(r'(pid|Process)[ =:]*\d+|0x[0-9a-f]+')
    clean = [[pids.sub('', text) for text in pair] for pair in (
        (hooked.out, hooked.err), (done.stdout.decode(), done.stderr.decode()))]
    return (hooked.status, *clean[0]), (done.returncode, *clean[1]), hooked


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Unseen(unittest.TestCase):
    def same(self, text, *arguments):
        hooked, alone, run = run_twice(text, *arguments)
        self.assertEqual(hooked, alone)
        return run

    def test_exceptions_and_their_tracebacks(self):
        # One worker: with two, torch's own traceback has another line when a batch comes early.
        for workers in ('0', '1'):
            run = self.same(FAILING, workers)
            self.assertEqual(run.status, 1)
            self.assertIn('sample 5 is broken', run.err)
            self.assertEqual([f.end for f in run.fetch], [0, 0, 1])

    def test_a_loader_whose_own_attribute_raises(self):
        """The program never asks for it; what we miss by that is listed."""
        run = self.same('''
            import torch
            from torch.utils.data import DataLoader
            class Own(DataLoader):
                @property
                def multiprocessing_context(self): raise RuntimeError('do not ask')
                @multiprocessing_context.setter
                def multiprocessing_context(self, value): pass
            print([batch.tolist() for batch in Own(list(range(8)), batch_size=4)])
            ''')
        self.assertEqual((run.status, run.loader), (0, []))

    def test_a_loader_of_which_some_let_nobody_ask(self):
        run = self.same('''
            import torch
            from torch.utils.data import DataLoader
            class Late(DataLoader):
                ready = True
                @property
                def pin_memory(self):
                    if not self.ready: raise RuntimeError('not opened yet')
                    return False
                @pin_memory.setter
                def pin_memory(self, value): pass
            first = Late(list(range(8)), batch_size=4)
            Late.ready = False
            late = Late(list(range(8)), batch_size=2)
            Late.ready = True
            print(len(list(first)), len(list(late)))
            ''')
        self.assertEqual([(l.batch_size, l.pin_memory) for l in run.loader], [(4, 0), (2, 0)])
        self.assertEqual(len([f for f in run.fetch if not f.end]), 6)
        source, = run.source
        self.assertEqual((source.source, source.state), ('hook.torch_loader.settings', 0))
        self.assertIn('__main__.Late', source.why)

    def test_a_property_whose_value_is_held_is_not_asked(self):
        run = self.same('''
            import torch
            from torch.utils.data import DataLoader
            class Counted(DataLoader):
                asked = 0
                @property
                def drop_last(self):
                    Counted.asked += 1
                    return self.__dict__['drop_last']
                @drop_last.setter
                def drop_last(self, value): self.__dict__['drop_last'] = value
            loader = Counted(list(range(8)), batch_size=3)
            before = Counted.asked
            print(len(list(loader)), before, Counted.asked)
            ''')
        self.assertEqual([l.batch_size for l in run.loader], [3])

    def test_a_spec_that_the_program_asks_for_can_be_copied_and_pickled(self):
        self.same('''
            import copy, importlib.machinery, importlib.util, pickle
            spec = importlib.util.find_spec('torch')
            copies = copy.copy(spec), copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))
            for loader in (spec.loader, copy.copy(spec.loader), *(each.loader for each in copies)):
                print(isinstance(loader, importlib.machinery.SourceFileLoader), loader.name, loader.path == spec.origin)
            ''')

    def test_a_fetcher_can_be_copied_and_pickled(self):
        run = self.same('''
            import copy, pickle, torch
            from torch.utils.data import DataLoader, TensorDataset
            iterator = iter(DataLoader(TensorDataset(torch.zeros(4)), batch_size=2))
            next(iterator)
            fetcher = iterator._dataset_fetcher
            for each in (copy.copy(fetcher), copy.deepcopy(fetcher),
                         *(pickle.loads(pickle.dumps(fetcher, n)) for n in range(5))):
                print(type(each).__name__, each.fetch([0, 1]))
            ''')
        self.assertEqual(run.status, 0)

    def test_what_lives_to_the_end_goes_in_silence(self):
        """Modules are emptied before what the program holds."""
        run = self.same('''
            import torch
            from torch.utils.data import DataLoader, Dataset
            class Numbers(Dataset):
                def __len__(self): return 8
                def __getitem__(self, i): return torch.tensor([float(i)])
            model = torch.nn.Linear(1, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            iterator = iter(DataLoader(Numbers(), 2))
            model(next(iterator)).mean().backward()
            optimizer.step()
            model.eval()
            loader = DataLoader(Numbers())
            import sys
            for name in [name for name in sys.modules if name.startswith('stallprof_hook.')]:
                vars(sys.modules[name]).clear()   # as the interpreter does, in an order of its own
            del iterator, loader, optimizer, model
            ''')
        self.assertEqual((run.status, run.err), (0, ''))

    def test_a_worker_that_is_killed(self):
        """torch's SIGCHLD handler raises in whatever Python code runs then: ours must not show."""
        run = Run([PYTHON, '-c', textwrap.dedent('''
            import os, torch
            from torch.utils.data import DataLoader, Dataset
            class Deadly(Dataset):
                def __len__(self): return 9
                def __getitem__(self, i):
                    if i == 4: os.kill(os.getpid(), 9)
                    return i
            for batch in DataLoader(Deadly(), num_workers=1): pass
            ''')])
        self.assertEqual(run.status, 1)
        self.assertNotIn('stallprof', run.err)

    def test_warnings_name_the_same_lines(self):
        run = self.same('''
            import warnings, torch
            warnings.simplefilter('always')
            from torch.utils.data import DataLoader, IterableDataset
            class Long(IterableDataset):
                def __len__(self): return 2
                def __iter__(self): return iter(range(5))
            loader = DataLoader(Long(), num_workers=512) if 0 else DataLoader([1], num_workers=99)
            loader = DataLoader(Long())
            len(loader)
            for _ in loader: pass
            ''')
        self.assertIn('UserWarning', run.err)

    def test_introspection(self):
        self.same('''
            import inspect, pickle, torch, copy, weakref
            from torch.utils.data import DataLoader, dataloader
            print(inspect.signature(DataLoader), inspect.signature(DataLoader.__init__))
            print(inspect.getsource(dataloader._BaseDataLoaderIter.__next__))
            print(inspect.signature(torch.save), torch.save.__module__, repr(torch.save)[:14])
            print(torch.save is torch.serialization.save, inspect.isfunction(torch.save))
            print(weakref.ref(torch.save)() is torch.save)  # torch.compile refers to what it sees
            loop = torch.utils.data._utils.worker._worker_loop
            print(pickle.dumps(loop), copy.deepcopy(loop) is loop)
            print(torch.serialization.__spec__.loader.__class__, torch.serialization.__loader__)
            loader = DataLoader([1, 2])
            print(sorted(vars(loader)), repr(type(loader)), [b.tolist() for b in loader])
            print(sorted(vars(torch.optim.SGD([torch.zeros(1)], lr=1))))
            bound = iter(loader).__next__
            print(bound.__name__, bound.__func__.__qualname__, bound().tolist())
            print(torch.nn.Linear(1, 1).register_forward_hook(print).id)
            ''')

    def test_a_data_set_is_not_asked_for_its_length_once_more(self):
        self.same('''
            import torch
            from torch.utils.data import DataLoader, Dataset
            class Asked(Dataset):
                calls = 0
                def __len__(self):
                    Asked.calls += 1
                    return 8
                def __getitem__(self, i): return i
            loader = DataLoader(Asked(), batch_size=4, shuffle=True)
            print(Asked.calls, len(list(loader)), Asked.calls)
            ''')

    def test_a_mode_of_the_program_sees_its_own_calls_alone(self):
        self.same('''
            import torch
            from torch.overrides import TorchFunctionMode
            from torch.utils.data import DataLoader
            class Log(TorchFunctionMode):
                def __torch_function__(self, function, types, args=(), kwargs=None):
                    print(getattr(function, '__name__', function))
                    return function(*args, **(kwargs or {}))
            with Log():
                for batch in DataLoader(list(torch.arange(8.).split(1)), batch_size=2): pass
            ''')

    def test_a_class_of_loaders_goes_with_its_last_loader(self):
        self.same('''
            import gc, weakref
            from torch.utils.data import DataLoader
            def loader_of(shard):
                class Own(DataLoader):
                    def __iter__(self): return (shard for _ in super().__iter__())
                return Own(list(range(4)))
            def used():
                loader = loader_of([0] * 1000)
                list(loader)
                return weakref.ref(type(loader))
            kinds = [used() for _ in range(3)]
            gc.collect()
            print([kind() is None for kind in kinds])
            ''')

    def test_a_seeded_training_gives_the_same_weights(self):
        self.same('''
            import torch
            from torch.utils.data import DataLoader, TensorDataset
            torch.manual_seed(3)
            model = torch.nn.Linear(4, 1)
            data = TensorDataset(torch.rand(64, 4))
            optimizer = torch.optim.Adam(model.parameters())
            for epoch in range(2):
                for x, in DataLoader(data, batch_size=8, shuffle=True, num_workers=2):
                    optimizer.zero_grad()
                    loss = (model(x) ** 2).mean()
                    loss.backward()
                    optimizer.step()
                print(loss.item())
            print(model.weight.tolist(), torch.get_num_threads())
            ''')

    def test_no_descriptor_is_left(self):
        self.same('''
            import os, torch
            from torch.utils.data import DataLoader
            list(DataLoader([1, 2, 3]))
            print(sorted(os.readlink('/proc/self/fd/' + f) for f in os.listdir('/proc/self/fd')
                         if os.path.exists('/proc/self/fd/' + f) and int(f) > 2))
            print(os.open('/dev/null', os.O_RDONLY))
            ''')

    def test_after_closing_every_descriptor(self):
        run = self.same('''
            import os, torch
            from torch.utils.data import DataLoader
            os.closerange(3, 4096)
            print(len(list(DataLoader(list(range(8)), num_workers=1))))
            ''')
        self.assertEqual(sum(not f.end for f in run.fetch), 8)


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Forks(unittest.TestCase):
    def test_a_fork_in_the_middle_writes_to_its_own_slot(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            import os, torch
            from torch.utils.data import DataLoader
            it = iter(DataLoader(list(range(10))))
            next(it); next(it)
            pid = os.fork()
            for _ in range(3): next(it)
            if pid: os.waitpid(pid, 0)
            ''')])
        self.assertEqual((run.status, run.err), (0, ''))
        pids = [f.pid for f in run.fetch]  # by time: numbers of processes begin again at their maximum
        self.assertEqual((pids.count(pids[0]), len(pids), len(set(pids))), (5, 8, 2))

    def test_slots_carry_the_start_of_their_owner(self):
        run = Run([PYTHON, '-c', 'import torch; print(open("/proc/self/stat").read())'])
        owner, ticks = run.memory.owners()[0]
        fields = run.out.rpartition(')')[2].split()
        self.assertEqual((owner, ticks), (int(run.out.split()[0]), int(fields[19])))


class Interrupted(unittest.TestCase):
    """Signal handlers run wherever Python code runs, our callbacks too: what they raise is the
    program's. A timer fires every 50 us and counts; each of its exceptions must arrive."""

    def test_no_exception_of_a_signal_handler_is_lost(self):
        for error in ('KeyboardInterrupt', 'TimeoutError'):
            run = Run([PYTHON, '-c', textwrap.dedent('''
                import signal, sys, time
                import stallprof_hook
                from stallprof_hook import events
                raised = caught = 0
                def handler(*_):
                    global raised
                    raised += 1
                    raise %s
                exec(compile("""def begin(args, kwargs): return sum(range(100)) or 1
                def end(token, args, result, ok): sum(range(100))
                """.replace(' ' * 16, ''), 'stallprof_hook/x.py', 'exec'),
                     {'__name__': 'stallprof_hook.x'}, globals())
                f = events.Around(lambda: None, begin, end)
                signal.signal(signal.SIGALRM, handler)
                while raised < 100:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0.00005)
                        for _ in range(20): f()
                        signal.setitimer(signal.ITIMER_REAL, 0)
                    except %s as e:
                        caught += 1
                        while e.__traceback__:
                            assert 'stallprof' not in e.__traceback__.tb_frame.f_code.co_filename
                            e.__traceback__ = e.__traceback__.tb_next
                assert raised == caught, (raised, caught)
                ''' % (error, error))])
            self.assertEqual((run.status, run.err), (0, ''))

    def test_what_another_thread_raises_in_ours_arrives(self):
        """PyThreadState_SetAsyncExc, by which libraries end a thread that takes too long. One of a built-in type
        is as ours would be."""
        run = Run([PYTHON, '-c', textwrap.dedent('''
            import ctypes, threading
            from stallprof_hook import events
            class TooLong(Exception): pass
            exec("""def ours(*_):
                set(thread, error)
                for i in range(1000): pass
            """, {'__name__': 'stallprof_hook.x', 'set': ctypes.pythonapi.PyThreadState_SetAsyncExc,
                  'thread': ctypes.c_ulong(threading.get_ident())}, globals())
            for error in TooLong, ValueError:
                ours.__globals__['error'] = ctypes.py_object(error)
                for around in (events.Around(int, ours, print), events.Around(int, ours), events.Around(int, None, ours)):
                    try:
                        around('1')
                        print('lost')
                    except TooLong as error:
                        print('arrived', error.__traceback__.tb_next)
            ''')])
        self.assertEqual((run.status, run.out, run.err), (0, 'arrived None\n' * 3 + 'lost\n' * 3, ''))

    def test_what_a_handler_raises_while_a_loop_is_found_arrives(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            from stallprof_hook._stallprof_events import watch_turns
            class TooLong(Exception): pass
            def place(*jump): raise error
            exec("def our_place(*jump): raise error", {'__name__': 'stallprof_hook.x'}, globals())
            for error, find in ((KeyboardInterrupt, place), (ValueError, place), (TooLong, our_place)):
                our_place.__globals__['error'] = error
                try: print(watch_turns('disable', find)(place.__code__, 8, 2))
                except error: print('arrived')
            our_place.__globals__['error'] = ValueError
            print(watch_turns('disable', our_place)(place.__code__, 8, 2))
            ''')])
        self.assertEqual((run.status, run.out, run.err), (0, 'arrived\n' * 3 + 'disable\n', ''))

    def test_what_a_handler_raises_while_a_slow_sample_is_reported_arrives(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            import time, types
            from stallprof_hook import _stallprof_events as native
            def theirs(*_): raise ValueError
            exec("def ours(*_): raise ValueError", {'__name__': 'stallprof_hook.x'}, globals())
            fetch = native.around_fetch(lambda fetcher, indices: [time.sleep(0.1 * (i == 7)) for i in indices])
            for report in theirs, ours:
                fetcher = types.SimpleNamespace(_stallprof=native.SampleTimes(report))
                try: print(len(fetch(fetcher, list(range(9)))))
                except ValueError: print('arrived')
            ''')])
        self.assertEqual((run.status, run.out, run.err), (0, 'arrived\n9\n', ''))

    def test_what_a_handler_raises_while_a_window_of_the_gpu_turns_arrives(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            import ctypes, sys, types
            from stallprof_hook import agent
            sys.modules['torch'] = torch = types.ModuleType('torch')
            torch.cuda = types.SimpleNamespace(is_current_stream_capturing=lambda: False, device_count=lambda: 1)
            class Preempted(Exception): pass
            def turn(): raise Preempted
            agent._turns.extend((ctypes.c_uint32(1), turn))
            try: agent.at_step()
            except Preempted: print('arrived')
            ''')])
        self.assertEqual((run.status, run.out, run.err), (0, 'arrived\n', ''))

    @unittest.skipUnless(os.geteuid() == 0, 'needs root to become another user')
    def test_a_process_that_may_no_longer_read_the_hook_imports_as_without_it(self):
        with tempfile.TemporaryDirectory() as folder:   # of its owner alone
            hook = shutil.copytree(HOOK, folder + '/hook')
            run = Run([PYTHON, '-c', 'import os; os.setuid(65534)\n'
                       'try: import xgboost.core\nexcept ImportError as error: print(error)'],
                      environment={'PYTHONPATH': hook})
        self.assertEqual((run.status, run.out, run.err), (0, "No module named 'xgboost'\n", ''))

    def test_an_adapter_whose_compiled_file_was_cut_short_is_not_the_programs_trouble(self):
        with tempfile.TemporaryDirectory() as folder:
            hook = shutil.copytree(HOOK, folder + '/hook')
            adapter = os.path.join(hook, 'stallprof_hook', 'boosting.py')
            compiled = py_compile.compile(adapter, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            os.truncate(compiled, 20)   # as on a full disk: its header is whole
            run = Run([PYTHON, '-c', 'import xgboost.core; print("fine")'],
                      environment={'PYTHONPATH': hook + ':' + os.path.join(os.path.dirname(__file__), 'fake')})
        self.assertEqual((run.status, run.out, run.err), (0, 'fine\n', ''))

    def test_an_adapter_that_the_program_lets_nobody_import_is_not_the_imports_trouble(self):
        for refusal in ('''
                def guard(event, args):
                    if event == 'open' and 'stallprof_hook' in str(args[0]): raise PermissionError('not from there')
                sys.addaudithook(guard)''', '''
                class OnlyThese:
                    def find_spec(self, name, path=None, target=None):
                        if name.startswith('stallprof'): raise ImportError('not listed')
                sys.meta_path.insert(0, OnlyThese())'''):
            with self.subTest(refusal):
                text = 'import sys, stallprof_hook.watch, stallprof_hook.events' + textwrap.dedent(refusal) + \
                    '\nimport xgboost.core; print("fine")'
                run = Run([PYTHON, '-c', text], path_after=(os.path.join(os.path.dirname(__file__), 'fake'),))
                self.assertEqual((run.status, run.out, run.err), (0, 'fine\n', ''))
                source, = run.source
                self.assertEqual((source.source, source.state), ('hook.boosting', 0))
                self.assertIn('could not be imported: ', source.why)

    def test_calls_within_a_call_are_the_originals_where_that_is_asked_for(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            from stallprof_hook import events
            seen = []
            def down(n):
                if n == 0: raise ValueError
                if n > 1: around(n - 1)
                return n
            around = events.Around(down, lambda args, kwargs: args[0],
                                   lambda token, args, result, succeeded: seen.append((token, succeeded)), True)
            assert around(3) == 3
            try: around(0)
            except ValueError: pass
            assert around(2) == 2
            print(seen)
            ''')])
        self.assertEqual((run.status, run.out, run.err), (0, '[(3, True), (0, False), (2, True)]\n', ''))

    def test_after_two_threads_were_in_it_at_once_calls_are_seen_again(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            import threading
            from stallprof_hook import events
            seen, entered, leave = [], threading.Event(), threading.Event()
            def call(name):
                if name == 'first': thread.start(); entered.wait()
                if name == 'second': entered.set(); leave.wait()
            around = events.Around(call, lambda args, kwargs: seen.append(args[0]), None, True)
            thread = threading.Thread(target=around, args=('second',))
            around('first')
            leave.set()
            thread.join()
            around('third')
            print(seen)
            ''')])
        self.assertEqual((run.status, run.out, run.err), (0, "['first', 'second', 'third']\n", ''))

    def test_our_own_errors_are_swallowed(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            from stallprof_hook import events
            exec("def wrong(*a): raise ValueError", {'__name__': 'stallprof_hook.test'}, globals())
            assert events.Around(lambda a: a + 1, wrong, wrong)(1) == 2
            assert events.Around(lambda a: a + 1, None, wrong)(1) == 2
            try: events.Around(lambda: 1 / 0, lambda a, k: 1, wrong)()
            except ZeroDivisionError: print('theirs')
            ''')])
        self.assertEqual((run.status, run.out, run.err), (0, 'theirs\n', ''))

    @unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
    def test_ctrl_c_in_a_wait(self):
        child = ('import torch, time\nfrom torch.utils.data import DataLoader\n'
                 'class Slow(torch.utils.data.Dataset):\n'
                 '  def __len__(self): return 9\n'
                 '  def __getitem__(self, i): print("in", flush=True); time.sleep(60)\n'
                 'for _ in DataLoader(Slow()): pass\n')
        memory = EventMemory()
        env = dict(os.environ, STALLPROF_EVENTS=memory.path, PYTHONPATH=HOOK)
        with subprocess.Popen([PYTHON, '-c', child], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            error = process.stderr.read().decode()
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertNotIn('stallprof', error)


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class EventMemoryTrouble(unittest.TestCase):
    def quiet(self, path, **more):
        run = Run([PYTHON, TRAIN, '--samples', '16', '--epochs', '1', '--workers', '1'],
                  environment={'STALLPROF_EVENTS': path}, **more)
        self.assertEqual((run.status, run.err), (0, ''), path)
        return run

    def refused(self, path):
        """The hook's own question of a training, which takes seconds more."""
        run = Run([PYTHON, '-c', 'from stallprof_hook import events; print(events.ready())'],
                  environment={'STALLPROF_EVENTS': path})
        self.assertEqual((run.status, run.out, run.err), (0, 'False\n', ''), path)

    def test_missing_or_of_another_kind(self):
        with tempfile.NamedTemporaryFile() as file:
            for path in ('/proc/self/fd/900', '/proc/1/fd/0', '/proc/self/mem', '/nowhere',
                         '/dev/null', 'relative', file.name, '/proc/self', '\udce9' * 300):
                self.refused(path)
        self.quiet('/proc/self/fd/900')

    def test_garbage_and_wrong_sizes(self):
        for size, head in ((0, b''), (4096, b'x' * 4096), (MEMORY_BYTES - 1, None),
                           (MEMORY_BYTES, b''), (MEMORY_BYTES, b'x' * 4096)):
            memory = EventMemory()
            os.ftruncate(memory.fd, size)
            if head is not None:
                os.pwrite(memory.fd, head or bytes(min(size, 24)), 0)
            self.refused(memory.path)
            if head is None:   # all is as it should be but the size
                self.quiet(memory.path)
        self.quiet(memory.path)

    def test_garbage_in_a_slot(self):
        memory = EventMemory()
        for i in range(SLOTS):  # head and tail that cannot be
            at = 4096 + i * (4096 + RING)
            os.pwrite(memory.fd, b'\xff' * 8, at + 16)
            os.pwrite(memory.fd, b'\x01' * 8, at + 64)
        env = {'STALLPROF_EVENTS': memory.path}
        done = subprocess.run([PYTHON, TRAIN, '--samples', '8'], stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=HOOK, **env))
        self.assertEqual((done.returncode, done.stderr), (0, b''))

    def test_closed_by_the_recorder(self):
        memory = EventMemory()
        memory.close_for_writers()
        self.assertEqual(self.quiet(memory.path, memory=memory).events, [])

    def test_no_free_slot(self):
        memory = EventMemory()
        for i in range(SLOTS):
            os.pwrite(memory.fd, b'\x01\x00\x00\x00', 4096 + i * (4096 + RING))
        self.assertEqual(self.quiet(memory.path, memory=memory).events, [])

    def test_a_full_ring_drops_and_counts_and_wraps_whole(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            from stallprof_hook import events
            events.ready()
            for i in range(3000):
                events.put(events.FRAMEWORK_SEEN, i, 'n' * (i % 50), 'v')
            ''')])
        count = len(run.framework)
        self.assertEqual(count + run.memory.dropped(), 3000)
        self.assertGreater(count, 800)  # 65,536 bytes of at most 88
        self.assertTrue(all(f.name == 'n' * (f.at % 50) for f in run.framework))

    def test_a_drained_ring_goes_round(self):
        memory, seen = EventMemory(), []
        env = dict(os.environ, STALLPROF_EVENTS=memory.path, PYTHONPATH=HOOK)
        child = ('from stallprof_hook import events; import time; events.ready()\n'
                 'for i in range(6000):\n'
                 '  events.put(events.FRAMEWORK_SEEN, i, "n" * (i % 70), "v")\n'
                 '  if i % 100 == 0: time.sleep(0.005)\n')
        with subprocess.Popen([PYTHON, '-c', child], env=env) as process:
            while process.poll() is None:
                seen += memory.drain()
                time.sleep(0.001)
        seen += memory.drain()
        self.assertEqual(len(seen) + memory.dropped(), 6000)
        self.assertTrue(all(e.name == 'n' * (e.at % 70) for e in seen))


if __name__ == '__main__':
    unittest.main()
