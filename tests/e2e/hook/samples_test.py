# SPDX-License-Identifier: MIT
"""The samples of real data sets that take far longer than the others, and what fastai gives torch's iterators."""
import os
import subprocess
import textwrap
import unittest

from harness import Run
from torch_case import PYTHON, TORCH, Case, script


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


if __name__ == '__main__':
    unittest.main()
