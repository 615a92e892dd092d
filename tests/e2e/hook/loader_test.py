# SPDX-License-Identifier: MIT
"""What the hook says of real DataLoaders, against what the program itself counted and timed."""
import os
import shutil
import tempfile
import unittest

from harness import Run, written
from torch_case import PYTHON, TORCH, TORCHDATA, TRAIN, Case, script, train


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


if __name__ == '__main__':
    unittest.main()
