# SPDX-License-Identifier: MIT
"""What the hook says of real DataLoaders, against what the program itself counted and timed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

from harness import Run, torch_of, written

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get('STALLPROF_TORCH', sys.executable)
TRAIN = os.path.join(HERE, 'train.py')
TORCH, TORCHDATA = torch_of(PYTHON)


def train(*arguments):
    run = Run([PYTHON, TRAIN] + [str(a) for a in arguments])
    if run.status != 0:
        raise AssertionError(run.err)
    run.own = json.loads(run.out)
    run.batches = [f for f in run.fetch if not f.end]
    return run


def script(text, *arguments):
    run = Run([PYTHON, '-c', textwrap.dedent(text)] + list(arguments))
    if run.status != 0:
        raise AssertionError(run.err)
    return run


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Case(unittest.TestCase):
    def check_waits(self, run):
        """Each next() is timed inside the program's own timer, and nearly as long."""
        self.assertEqual(len(run.batches), len(run.own['waits']))
        self.assertEqual(run.memory.dropped(), 0)
        for fetch, own in zip(run.batches, run.own['waits']):
            self.assertLessEqual(fetch.duration, own)
        # Of waits that last: a busy host takes the CPU away between the two clocks at most of them.
        lost = [own - fetch.duration for fetch, own in zip(run.batches, run.own['waits']) if own > 2e6]
        self.assertLess(min(lost), 1e6)

    def check_tasks(self, run, batches):
        """Every delivered batch has its one task, made by the worker that the fetch names."""
        keys = {(i.pid, i.pass_): i.key for i in run.iterator}
        tasks = {(t.key, t.batch): t for t in run.task}
        self.assertEqual(len(tasks), len(run.task))
        for fetch in run.batches:
            task = tasks[keys[fetch.pid, fetch.pass_], fetch.batch]
            self.assertEqual(task.worker, fetch.worker)
            self.assertTrue(0 <= task.fetch_begin <= task.fetch_end <= task.put_end)
            self.assertLess(task.at + task.fetch_end, fetch.at + fetch.duration)
            self.assertLessEqual(task.cpu, task.fetch_end - task.fetch_begin)
        self.assertEqual({t.bytes for t in run.task} - {-1}, {4 * 16 * 4})  # -1: not read, of short ones
        self.assertEqual(len(run.batches), batches)


class Counts(Case):
    pass


def add_count_case(workers, method, kind):
    def test(self):
        more = ['--method', method] if method else []
        run = train('--workers', workers, '--kind', kind, *more)
        self.check_waits(run)
        self.assertEqual(len(run.batches), 32)  # 64 samples / 4, twice
        self.assertEqual(sum(f.end for f in run.fetch), 2)
        self.assertEqual(len(run.optimizer), 32)
        self.assertEqual([i.pass_ for i in run.iterator], [1, 2])
        loader, = run.loader
        self.assertEqual((loader.workers, loader.start_method), (workers, method or ''))
        self.assertEqual((loader.iterable, loader.in_order), (kind == 'iterable', 1))
        if workers:
            self.check_tasks(run, 32)
            self.assertEqual(len(run.worker), 4)
            self.assertEqual(len({w.pid for w in run.worker}), 4)
        else:
            self.assertEqual([f.batch for f in run.batches], list(range(16)) * 2)
            for fetch in run.batches:
                self.assertEqual((fetch.worker, fetch.ready), (-1, -1))
                least = 4 * 500000 if fetch.bytes >= 0 else 1  # of others it is an estimate: ReadFetches
                self.assertGreaterEqual(fetch.cpu, least)
                self.assertGreaterEqual(fetch.process_cpu, fetch.cpu)
    return test


for _kind in ('map', 'iterable'):
    for _workers, _method in ((0, ''), (2, 'fork'), (2, 'spawn'), (2, 'forkserver')):
        setattr(Counts, 'test_%s_%d_workers_%s' % (_kind, _workers, _method),
                add_count_case(_workers, _method, _kind))


@unittest.skipUnless(TORCHDATA, 'no torchdata for ' + PYTHON)
class Stateful(Case):
    """torchdata's StatefulDataLoader has iterators and a worker loop of its own."""

    def test_fetches_and_tasks(self):
        for workers, persistent in ((0, 0), (2, 0), (2, 1)):
            run = train('--stateful', '--workers', workers, *['--persistent'] * persistent)
            self.assertEqual(len(run.batches), len(run.own['waits']))
            loader, = run.loader
            self.assertEqual((loader.kind, loader.workers, loader.file, run.source),
                             ('torch.StatefulDataLoader', workers, TRAIN, []))
            self.assertEqual((len(run.batches), len(run.optimizer)), (32, 32))
            if workers:
                keys = {(i.pid, i.pass_): i.key for i in run.iterator}
                tasks = {(t.key, t.batch): t for t in run.task}
                for fetch in run.batches:
                    self.assertEqual(tasks[keys[fetch.pid, fetch.pass_], fetch.batch].worker, fetch.worker)

    def test_one_that_goes_on_where_it_was_saved(self):
        run = script('''
            from torchdata.stateful_dataloader import StatefulDataLoader
            for workers in (0, 2):
                first = StatefulDataLoader(list(range(64)), batch_size=4, num_workers=workers)
                it = iter(first)
                seen = [next(it).tolist() for _ in range(5)]
                state = first.state_dict()
                second = StatefulDataLoader(list(range(64)), batch_size=4, num_workers=workers)
                second.load_state_dict(state)
                seen += [b.tolist() for b in second]
                assert sum(seen, []) == list(range(64)), seen
            ''')
        self.assertEqual(([f for f in run.source], sum(not f.end for f in run.fetch)), ([], 32))


class ReadFetches(Case):
    """Reading a CPU clock on full CPUs loses the CPU there: with no workers it is read once in some 100 ms, the CPU
    of other fetches is estimated. Those that were read know their size."""

    def fetches(self, item, used='time.thread_time_ns() - begin', before=''):
        """And what the program itself prints as the CPU that was used."""
        run = script('''
            import hashlib, os, subprocess, time, torch
            from concurrent.futures import ThreadPoolExecutor
            from torch.utils.data import DataLoader, Dataset
            pool, long = ThreadPoolExecutor(1), bytes(4 << 20)
            class Data(Dataset):
                def __len__(self): return 160
                def __getitem__(self, i): return %s
            %s
            begin = time.thread_time_ns()
            for batch in DataLoader(Data()): pass
            print(%s)''' % (item, before, used))
        fetches = [f for f in run.fetch if not f.end]
        self.assertEqual(len(fetches), 160)
        return fetches, int(run.out)

    def test_clocks_are_read_once_in_a_while(self):
        for item in 'i', '(time.sleep(0.003), i)[1]':
            fetches, _ = self.fetches(item)
            read = [f for f in fetches if f.bytes >= 0]
            self.assertEqual([f.batch for f in read[:2]], [0, 1])
            ends = [f.at + f.duration for f in read[1:]]
            self.assertTrue(all(f.at - end >= 100e6 for f, end in zip(read[2:], ends)), read)
            begins = [f.at for f in fetches if f.at > ends[-1]]
            self.assertTrue(not begins or begins[-1] - ends[-1] < 168e6, 'none was read any more')
            self.assertTrue(all(f.process_cpu >= f.cpu >= 0 and f.cpu <= f.duration for f in fetches))

    def test_a_fetch_that_keeps_its_cpu_used_all_of_its_time_and_one_that_does_not_what_others_use(self):
        """A program beside it has the half of its CPU."""
        one_cpu = 'os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])'
        beside = "other = subprocess.Popen(['sh', '-c', 'while :; do :; done'])"
        fetches, used = self.fetches('hashlib.sha256(long).digest()[0]', before='; '.join((one_cpu, beside)),
                                     used='[time.thread_time_ns() - begin, other.kill(), other.wait()][0]')
        self.assertGreater(sum(f.bytes < 0 for f in fetches), 80)
        self.assertGreater(sum(f.duration for f in fetches), 1.5 * used, 'nothing ran beside it')
        self.assertTrue(0.8 < sum(f.cpu for f in fetches) / used < 1.2, used)

    def test_a_fetch_that_waits_once_has_no_cpu_for_that(self):
        """By the share of the others it would be a quarter of a second; the thread's account is right but for a tick."""
        fetches, _ = self.fetches('hashlib.sha256(long).digest()[0] if i != 80 else (time.sleep(0.25), 1)[1]')
        slow, = (f for f in fetches if f.duration > 250e6)
        self.assertLess(slow.cpu, 20e6)

    def test_what_a_pool_does_is_known_whatever_the_first_batch_does(self):
        """It opens files and starts threads, and is forgotten. One that takes 0.3 s says nothing of shorter ones."""
        for wait in 0, 0.09, 0.3:
            fetches, used = self.fetches(
                'pool.submit(hashlib.sha256, long).result().digest()[0] if i else (time.sleep(%g), 1)[1]' % wait,
                'pool.submit(time.thread_time_ns).result()')
            self.assertTrue(all(f.process_cpu >= f.cpu for f in fetches))
            self.assertGreater(sum(f.process_cpu > f.cpu + 20000 for f in fetches), 144)
            # The process's clock lags behind a thread that runs: of single fetches that work may be missing. Some
            # five are read; on full CPUs a fetch's time varies more than its work.
            self.assertTrue(0.3 < sum(f.process_cpu - f.cpu for f in fetches) / used < 3, used)


class Epochs(Case):
    def test_persistent_workers_have_a_new_key_each_epoch(self):
        run = train('--workers', 2, '--persistent', '--epochs', 3)
        self.check_waits(run)
        self.check_tasks(run, 48)
        self.assertEqual([i.reused for i in run.iterator], [0, 1, 1])
        self.assertEqual(len({i.key for i in run.iterator}), 3)
        self.assertEqual(len({w.pid for w in run.worker}), 2)
        self.assertEqual({w.key for w in run.worker}, {i.key for i in run.iterator})

    def test_a_resumed_worker_reports_no_batch_that_was_not_made(self):
        """At the end of its data a worker drops the indexes it was still sent; then it answers the
        next epoch's greeting. Its own count of what it was asked for decides."""
        with tempfile.NamedTemporaryFile() as count:
            run = script('''
                import os, sys, time, torch
                from torch.utils.data import DataLoader, IterableDataset, get_worker_info
                log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
                class Counting(IterableDataset):
                    def __iter__(self):
                        self.left = 5
                        return self
                    def __next__(self):
                        os.write(log, b'.')
                        self.left -= 1
                        if self.left < 0: raise StopIteration
                        return torch.zeros(4)
                loader = DataLoader(Counting(), batch_size=None, num_workers=2, prefetch_factor=4,
                                    persistent_workers=True)
                for _ in range(3):
                    for _ in loader: time.sleep(0.005)
                ''', count.name)
            asked = len(count.read())
        self.assertEqual(asked, 3 * 2 * (5 + 1))
        self.assertEqual(len(run.task), asked)
        self.assertEqual(len({(t.key, t.batch) for t in run.task}), asked)
        self.assertEqual({t.bytes for t in run.task} - {-1}, {16})

    def test_the_same_seed_each_epoch_still_gives_different_keys(self):
        for method in ('fork', 'spawn'):
            run = train('--workers', 2, '--seed-each-epoch', '--method', method)
            self.assertEqual(len({i.key for i in run.iterator}), 2)
            self.check_tasks(run, 32)

    def test_more_workers_than_batches(self):
        run = train('--workers', 4, '--samples', 8, '--epochs', 1)
        self.check_tasks(run, 2)

    def test_two_loaders_zipped(self):
        run = script('''
            import torch
            from torch.utils.data import DataLoader, TensorDataset
            data = TensorDataset(torch.zeros(12, 2))
            a, b = DataLoader(data, batch_size=2, num_workers=1), DataLoader(data, batch_size=3)
            assert sum(1 for _ in zip(a, b)) == 4
            ''')
        self.assertEqual([loader.loader for loader in run.loader], [1, 2])
        count = {n: sum(f.loader == n and not f.end for f in run.fetch) for n in (1, 2)}
        self.assertEqual(count, {1: 5, 2: 4})  # zip fetches one more of the first

    def test_what_lies_ready(self):
        # No batch is made before the trainer waits for one, and it goes on from the fifth only when
        # all four that its two workers may hold lie ready: in the queue, or taken from it out of turn.
        run = script('''
            import multiprocessing, sys, threading, time, torch
            from torch.utils.data import DataLoader
            waits = multiprocessing.Event()
            class Data:
                def __len__(self):
                    return 40
                def __getitem__(self, i):
                    waits.wait()
                    return torch.zeros(2)
            def is_waiting(frame):
                while frame and frame.f_code.co_name != '_try_get_data':
                    frame = frame.f_back
                return frame
            def announce(trainer):
                while not is_waiting(sys._current_frames()[trainer]):
                    time.sleep(0.01)
                waits.set()
            def ready():
                out_of_turn = sum(len(task) == 2 for task in batches._task_info.values())
                return batches._data_queue.qsize() + out_of_turn
            batches = iter(DataLoader(Data(), batch_size=4, num_workers=2))
            threading.Thread(target=announce, args=(threading.get_ident(),), daemon=True).start()
            for i, _ in enumerate(batches):
                while i == 4 and ready() < 4:
                    time.sleep(0.01)
            ''')
        fetches = [f for f in run.fetch if not f.end]
        self.assertEqual(fetches[0].ready, 0)
        self.assertEqual(fetches[5].ready, 4)

    def test_out_of_order(self):
        if tuple(int(v) for v in TORCH.split('.')[:2]) < (2, 6):
            self.skipTest('torch %s has no in_order' % TORCH)
        for kind in ('map', 'iterable'):
            run = train('--workers', 2, '--out-of-order', '--kind', kind)
            self.check_waits(run)
            self.check_tasks(run, 32)
            self.assertEqual(run.loader[0].in_order, 0)


class Settings(Case):
    def test_every_setting_and_the_line(self):
        run = script('''\
            import torch
            from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset
            data = TensorDataset(torch.zeros(10, 2))
            DataLoader(data, batch_size=4, shuffle=True, drop_last=True)
            DataLoader(data, batch_size=4, shuffle=True, num_workers=2, prefetch_factor=5,
                       persistent_workers=True, multiprocessing_context='spawn')
            DataLoader(data, batch_sampler=BatchSampler(SequentialSampler(data), 3, False))
            DataLoader(data, batch_size=None)
            class Mine(DataLoader):
                def __init__(self, *args):
                    super().__init__(*args)
            Mine(data, 2)
            DataLoader(data, batch_size=None, sampler=BatchSampler(SequentialSampler(data), 3, False))
            DataLoader(list(range(10)), batch_size=4, shuffle=True, drop_last=True)
            DataLoader(list(range(10)), batch_size=4, shuffle=True)
            ''')
        first, second, third, fourth, fifth, sixth, *listed = run.loader
        self.assertEqual((first.batching, first.batch_size, first.length, first.prefetch),
                         ('auto', 4, -1, -1))
        self.assertEqual([loader.length for loader in listed], [2, 3])
        self.assertEqual((first.file, first.line, first.package), ('<string>', 4, ''))
        self.assertEqual((second.workers, second.prefetch, second.persistent, second.length,
                          second.start_method), (2, 5, 1, -1, 'spawn'))
        self.assertEqual((third.batching, third.batch_size), ('batch_sampler', 3))
        self.assertEqual((fourth.batching, fourth.batch_size), ('none', -1))
        self.assertEqual((sixth.batching, sixth.batch_size), ('none', 3))
        self.assertEqual((fifth.dataset, fifth.batch_size), ('TensorDataset', 2))
        self.assertEqual({loader.kind for loader in run.loader}, {'torch.DataLoader'})

    def test_a_loader_that_a_library_made_carries_the_users_line(self):
        run = script('''\
            import torch
            from torch.utils.data import DataLoader
            def library(name):
                exec(compile('def make(): return DataLoader([1, 2])', name, 'exec'), globals())
                return make
            library('/env/lib/python3/site-packages/easy/train.py')()
            installed = compile('make()', '/env/lib/python3/site-packages/mine/main.py', 'exec')
            exec(installed)
            ''')
        self.assertEqual([(l.file, l.line, l.package) for l in run.loader],
                         [('<string>', 6, 'easy'), ('<string>', 8, 'mine')])

    def test_a_program_that_is_all_installed_carries_its_librarys_line(self):
        with tempfile.TemporaryDirectory() as folder:
            program = written(folder + '/site-packages/mine.py', 'import torch\ntorch.utils.data.DataLoader([1])\n')
            run = Run([PYTHON, program])
            self.assertEqual([(l.file, l.line, l.package) for l in run.loader],
                             [(program, 2, 'mine')])

    def test_a_library_that_was_installed_into_a_folder_of_its_own_is_one(self):
        """By `pip install --target`."""
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, 'libs', 'easy')
            os.makedirs(os.path.join(folder, 'libs', 'easy-1.0.dist-info'))
            written(library + '/__init__.py', '')
            inner = written(library + '/train.py',
                            'import torch\ndef make(): return torch.utils.data.DataLoader([1])\n')
            program = written(folder + '/main.py', 'import easy.train\neasy.train.make()\n')
            run = Run([PYTHON, program], path_after=(os.path.dirname(library),))
            self.assertEqual([(l.file, l.line, l.package) for l in run.loader], [(program, 2, 'easy')])
            beside = shutil.copy(program, os.path.dirname(library))   # all in one folder is the program's own
            self.assertEqual([(l.file, l.line, l.package) for l in Run([PYTHON, beside]).loader], [(inner, 2, '')])

    def test_a_default_device_hides_no_size_of_a_batch(self):
        """It is a mode of torch's own."""
        run = script('''
            import torch
            from torch.utils.data import DataLoader
            data = [torch.zeros(1 << 16) for _ in range(8)]
            if hasattr(torch, 'set_default_device'): torch.set_default_device('cpu')
            for batch in DataLoader(data, batch_size=2, num_workers=1): pass
            ''')
        self.assertEqual({t.bytes for t in run.task} - {-1}, {2 * 4 << 16})

    def test_asking_for_settings_fixes_no_start_method(self):
        run = script('''
            import torch, multiprocessing
            from torch.utils.data import DataLoader
            loader = DataLoader([1, 2], num_workers=1)
            multiprocessing.set_start_method('spawn')   # raises once a method is fixed
            print('fine')
            ''')
        self.assertEqual(run.out, 'fine\n')

    def test_the_data_set_is_not_asked_for_its_length(self):
        run = script('''
            from torch.utils.data import DataLoader, Dataset
            class Lazy(Dataset):
                def __len__(self): raise SystemExit('opened early')
            DataLoader(Lazy())
            print('fine')
            ''')
        self.assertEqual(run.out, 'fine\n')

    def test_a_loader_that_came_by_pickle_is_announced_at_its_first_pass(self):
        run = script('''
            import pickle, torch
            from torch.utils.data import DataLoader
            text = pickle.dumps(DataLoader([1, 2, 3]))
            loader = pickle.loads(text)
            assert len(list(loader)) == 3
            ''')
        self.assertEqual({f.loader for f in run.fetch}, {run.loader[-1].loader})


class Workers(Case):
    def test_cpu_of_pools_counts_and_that_of_the_feeder_does_not(self):
        run = script('''
            import hashlib, threading, torch
            from torch.utils.data import DataLoader, Dataset
            blob = bytes(8 << 20)
            class Pooled(Dataset):
                def __len__(self): return 12
                def __getitem__(self, i):
                    if i % 2:
                        t = threading.Thread(target=hashlib.sha256, args=(blob,))
                        t.start(); t.join()
                    return torch.zeros(1 << 20)
            for _ in DataLoader(Pooled(), batch_size=1, num_workers=1): pass
            ''')
        pool = {t.batch: t.process_cpu - t.cpu for t in run.task}
        alone = max(cpu for batch, cpu in pool.items() if batch % 2 == 0 and batch > 1)
        helped = min(cpu for batch, cpu in pool.items() if batch % 2)
        self.assertGreater(helped, 2e6)
        self.assertLess(alone, 1e6)

    def test_short_fetches_that_are_not_read_are_estimated_by_the_share_of_those_that_are(self):
        run = script('''
            import hashlib, time, torch
            from torch.utils.data import DataLoader, Dataset
            blob = bytes(1 << 19)  # long beside what the loader itself does for it, short beside the period
            class Mixed(Dataset):
                def __len__(self): return 400
                def __getitem__(self, i):
                    begin = time.thread_time_ns()
                    if i % 8: hashlib.sha256(blob)
                    else: time.sleep(0.001)
                    return torch.tensor(time.thread_time_ns() - begin)
            print(sum(int(t) for _ in range(8) for t in DataLoader(Mixed(), batch_size=None, num_workers=1)))
            ''')
        unread = [t for t in run.task if t.bytes == -1]
        self.assertGreater(len(unread), len(run.task) / 8)  # a slow host's fetches are longer: more are read
        self.assertTrue(all(0 < t.cpu <= t.fetch_end - t.fetch_begin for t in unread))
        self.assertTrue(0.6 < sum(t.cpu for t in run.task) / int(run.out) < 1.6, run.out)

    def test_no_fetch_takes_more_cpu_than_time(self):
        """Their clocks are read one after the other: of fetches as short as these the CPU's is ahead of many."""
        run = script('''
            from torch.utils.data import DataLoader
            for workers in 0, 1:
                for _ in DataLoader(range(200), batch_size=None, num_workers=workers): pass''')
        self.assertEqual((len(run.task), sum(not f.end for f in run.fetch)), (200, 400))
        self.assertEqual([t for t in run.task if t.cpu > t.fetch_end - t.fetch_begin], [])
        self.assertEqual([f for f in run.fetch if f.cpu > f.duration], [])

    def test_reads_of_the_disk_are_counted(self):
        run = script('''
            import os, sys, tempfile, torch
            from torch.utils.data import DataLoader, Dataset
            file = tempfile.NamedTemporaryFile(dir='.')
            file.write(os.urandom(8 << 20)); file.flush(); os.fsync(file.fileno())
            class Disk(Dataset):
                def __len__(self): return 8
                def __getitem__(self, i):
                    fd = os.open(file.name, os.O_RDONLY)
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    n = len(os.pread(fd, 1 << 20, i << 20))
                    os.close(fd)
                    return n
            for _ in DataLoader(Disk(), num_workers=1): pass
            print(os.statvfs('.').f_fsid)
            ''')
        self.assertTrue(all(t.majflt >= 0 and t.inblock >= 0 for t in run.task))
        if not any(t.inblock for t in run.task):
            self.skipTest('this file system does no block reads')
        self.assertGreaterEqual(sum(t.inblock for t in run.task), 4 * 2048)


class SlowSamples(Case):
    """A sample that takes far longer than the others is named by index and file."""
    SECONDS = 0.06

    def slow(self, body, loader, workers=0, epochs=2, held='pathlib.Path("/d/%d.jpg" % i)'):
        """Events of a data set of 64 in which sample 37 sleeps; the sum of all that came is checked."""
        run = script('''
            import pathlib, sys, time, torch
            from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset
            class Data(Dataset):
                def __init__(self):
                    self.count, self.labels = 64, list(range(64))
                    self.held = [%s for i in range(64)]
                def __len__(self): return self.count
                def __getitem__(self, i):
                    if i == 37: time.sleep(%r)
                    return torch.tensor(i)
            %s
            loader = DataLoader(%s, batch_size=16, num_workers=%d)
            total = sum(int(b.sum()) for _ in range(%d) for b in loader)
            sys.stdout.write(str(total))
            ''' % (held, self.SECONDS, body, loader, workers, epochs))
        self.assertEqual(int(run.out), epochs * sum(range(64)))
        self.assertEqual(len([f for f in run.fetch if not f.end]), epochs * 4)
        return [s for s in run.slow if s.duration >= self.SECONDS * 1e9]

    def check_named(self, found, index, file, epochs=2):
        self.assertEqual([(s.index, s.file) for s in found], [(index, file)] * epochs)
        for s in found:
            self.assertEqual(s.samples, 16)
            self.assertTrue(1 <= s.slow <= 16)
            self.assertTrue(0 < 5 * s.median < s.duration)
            self.assertGreaterEqual(s.excess, 0.8 * s.duration)

    def test_in_the_trainer_and_in_workers(self):
        for workers in (0, 1):
            self.check_named(self.slow('', 'Data()', workers), 37, '/d/37.jpg')

    def test_files_are_found_in_lists_of_paths_and_of_pairs(self):
        self.check_named(self.slow('', 'Data()', held='("a/%d.npy" % i, 3)'), 37, 'a/37.npy')
        self.check_named(self.slow('', 'Data()', held='"word"'), 37, '')
        self.check_named(self.slow('', 'Data()', held='object()'), 37, '')

    def test_a_subset_names_the_file_of_its_data_set(self):
        subset = 'Subset(Data(), list(range(63, -1, -1)))'
        self.check_named(self.slow('', subset), 26, '/d/37.jpg')

    def test_a_name_as_index_is_the_file(self):
        body = '''class Named(Data):
                def __getitem__(self, name): return super().__getitem__(int(name[:-4]))
            names = ["%d.png" % i for i in range(64)]'''
        self.check_named(self.slow(body, 'Named(), sampler=names'), -1, '37.png')

    def test_batches_that_a_data_set_makes_at_once_have_no_times_of_samples(self):
        body = '''class Whole(Data):
                def __getitems__(self, indices):
                    assert type(indices) is list
                    return [self[i] for i in indices]'''
        self.assertLessEqual(len(self.slow(body, 'Whole()')), 2 if TORCH.startswith('1.') else 0)
        self.assertEqual(self.slow('', 'Data(), sampler=range(64), batch_sampler=None', epochs=0), [])

    def test_a_data_set_that_passes_names_on_is_asked_as_without_us(self):
        body = '''class Whole(Data):
                def __getitems__(self, indices):
                    assert type(indices) is list
                    return [self[i] for i in indices]
            class Passes:
                def __init__(self): self.data = Whole()
                def __getattr__(self, name): return getattr(self.data, name)
                def __len__(self): return len(self.data)
                def __getitem__(self, i): return self.data[i]
            own = Data()
            own.__getitems__ = Whole().__getitems__
            whole = Whole()
            import weakref'''
        for data in ('Passes()', 'own', 'weakref.proxy(whole)'):
            self.slow(body, data)

    def test_a_data_set_without_weak_references_or_fields(self):
        body = '''class Slots:
                __slots__ = ()
                def __len__(self): return 64
                __getitem__ = Data.__getitem__'''
        self.check_named(self.slow(body, 'Slots()'), 37, '')

    def test_a_list_with_samples_of_its_own(self):
        body = '''class Rows(list):
                def __getitem__(self, i): return Data.__getitem__(self, i)'''
        self.check_named(self.slow(body, 'Rows(range(64))'), 37, '')

    def test_an_error_of_the_data_set_is_as_without_us(self):
        program = textwrap.dedent('''
            import torch
            from torch.utils.data import DataLoader
            class Broken(list):
                def __getitem__(self, i): raise KeyError('no %d' % i)
            next(iter(DataLoader(Broken(range(8)), batch_size=4)))''')
        ours = Run([PYTHON, '-c', program])
        plain = subprocess.run([PYTHON, '-c', program], stderr=subprocess.PIPE)
        self.assertEqual((ours.status, ours.err), (1, plain.stderr.decode()))


class Fastai(Case):
    def test_what_it_gives_torchs_iterators_is_a_loader_and_its_optimizer_updates(self):
        run = Run([PYTHON, '-c', textwrap.dedent('''
            import torch
            from torch.utils.data import dataloader
            from fastai.optimizer import Optimizer
            class DataLoader:
                def __init__(self): self.bs, self.dataset = 4, (0.5,) * 12
            class FakeLoader:
                _IterableDataset_len_called, _auto_collation, drop_last, in_order = None, False, False, True
                generator, prefetch_factor, timeout, worker_init_fn = None, 2, 0, None
                pin_memory, pin_memory_device, persistent_workers, multiprocessing_context = False, '', False, None
                dataset_kind = _dataset_kind = dataloader._DatasetKind.Iterable
                _index_sampler, collate_fn, _get_shared_seed = range(99), staticmethod(list), staticmethod(int)
                def __init__(self, workers): self.dataset, self.num_workers, self.d = self, workers, DataLoader()
                def __iter__(self): return iter([[i] * 4 for i in range(3)])
            loader = FakeLoader(0)   # as for a single batch, where it has workers otherwise
            for kind in dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter:
                for batch in kind(loader):
                    Optimizer().step()
                loader.num_workers = 1
            ''')], path_after=(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fake'),))
        self.assertEqual((run.status, run.err, run.source), (0, '', []))
        self.assertEqual([f.end for f in run.fetch], [0, 0, 0, 1] * 2)
        self.assertEqual([(l.kind, l.dataset, l.batch_size, l.workers, l.iterable) for l in run.loader],
                         [('torch.fastai', 'tuple', 4, 0, 0), ('torch.fastai', 'tuple', 4, 1, 0)])
        self.assertEqual((len(run.optimizer), {t.worker for t in run.task}), (6, {0}))


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
            print(len(torch_optim._known), [len(cell.cell_contents) for hook in torch_optim._hooks
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
