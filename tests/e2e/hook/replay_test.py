# SPDX-License-Identifier: MIT
"""Batches given again, and a loader alone: what the program gets, and what is reported of it."""
import json
import textwrap
import time
import unittest

from harness import Run
from settings_test import HEAD, PYTHON, TORCH

PROGRAM = HEAD + textwrap.dedent('''
    import sys
    made = []
    class Counted(Numbers):
        def __getitem__(self, i):
            made.append(i)
            return torch.tensor([float(i)])
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([torch.tensor([float(i)]) for i in range(100)])
    class Mine(DataLoader):
        def __iter__(self):
            for batch in super().__iter__(): yield batch
    def epochs(loader, count=2):
        seen = [[batch.flatten().tolist() for batch in loader] for _ in range(count)]
        print(json.dumps([seen, len(made)]))
    ''')


def program(text, *asked):
    return Run([PYTHON, '-c', PROGRAM + textwrap.dedent(text)],
               environment={'STALLPROF_OVERRIDES': ''.join(s + '\n' for s in asked)})


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Replay(unittest.TestCase):
    def check(self, run):
        """Epochs are as long as ever, of the first ten batches; each has its event."""
        self.assertEqual(run.status, 0, run.err)
        seen, made = json.loads(run.out)
        first = seen[0][:10]
        self.assertEqual([len(epoch) for epoch in seen], [20, 20])
        self.assertEqual(seen[0][10:], first)
        self.assertEqual(seen[1], first * 2)
        self.assertEqual([f.end for f in run.fetch], [*[0] * 20, 1] * 2)
        self.assertEqual([f.pass_ for f in run.fetch], [1] * 21 + [2] * 21)
        replay, = run.setting
        self.assertEqual((replay.name, replay.after), ('replay', '10'))
        return made

    def test_without_workers_the_data_set_is_asked_no_more(self):
        made = self.check(program('epochs(DataLoader(Counted(), batch_size=2))', 'replay=10'))
        self.assertEqual(made, 20)

    def test_with_workers_none_are_started_again(self):
        run = program('epochs(DataLoader(Numbers(), batch_size=2, num_workers=2, shuffle=True))', 'replay=10')
        self.check(run)
        self.assertEqual(len(run.worker), 2)

    def test_workers_that_persist_do_no_harm(self):
        self.check(program('epochs(DataLoader(Numbers(), batch_size=2, num_workers=2, persistent_workers=True))',
                           'replay=10'))

    def test_epochs_shorter_than_what_is_kept_fill_it_together(self):
        run = program('epochs(DataLoader(Counted(), batch_size=8), 4)', 'replay=10')
        seen, made = json.loads(run.out)
        self.assertEqual(([len(epoch) for epoch in seen], made), ([5, 5, 5, 5], 80))
        run = program('epochs(DataLoader(Numbers(), batch_size=6, num_workers=1, persistent_workers=True), 4)',
                      'replay=10')
        self.assertEqual([len(epoch) for epoch in json.loads(run.out)[0]], [7, 7, 7, 7])

    def test_batches_changed_in_place_come_as_they_were(self):
        run = program('''
            seen = []
            for batch in DataLoader([{'x': torch.tensor([float(i)]), 'y': i} for i in range(60)], batch_size=2):
                seen.append([batch['x'].flatten().tolist(), batch.pop('y').tolist()])
                batch['x'].mul_(0)
            print(json.dumps(seen))''', 'replay=10')
        self.assertEqual(run.status, 0, run.err)
        seen = json.loads(run.out)
        self.assertEqual(seen, [[[2.0 * i, 2.0 * i + 1], [2 * i, 2 * i + 1]] for i in range(10)] * 3)
        source, = run.source
        self.assertEqual((source.source, source.state), ('hook.torch_replay.copies', 1))

    def test_a_data_set_without_a_length_needs_an_end(self):
        text = '''
            for count, batch in enumerate(DataLoader(Stream(), batch_size=2)):
                if count == 200: break
            print(count)'''
        run = program(text, 'replay=10')
        self.assertEqual(run.status, 125)
        self.assertIn('no length', run.err)
        self.assertEqual(program(text, 'replay=10', 'ends=1').out.strip(), '200')

    def test_batches_of_inference_mode_come_too_and_normal_ones_outside(self):
        """Their tensors have no version: what the program does to them cannot be seen."""
        self.check(program('''
            with torch.inference_mode():
                epochs(DataLoader(Counted(), batch_size=2))''', 'replay=10'))
        run = program('''
            loader = DataLoader(Numbers(), batch_size=2)
            with torch.inference_mode(): next(iter(loader))
            print(any(batch.is_inference() for _ in range(2) for batch in loader))''', 'replay=10')
        self.assertEqual((run.status, run.out.strip()), (0, 'False'), run.err)

    def test_where_no_device_is_used_none_is_asked_about_pinned_memory(self):
        self.check(program('''
            def is_pinned(self): raise RuntimeError("initialization error")
            torch.Tensor.is_pinned = is_pinned
            epochs(DataLoader(Numbers(), batch_size=2))''', 'replay=10'))

    def test_a_loader_that_the_program_leaves_goes_with_its_workers(self):
        run = program('''
            import gc, weakref
            class Sized(Stream):
                def __len__(self): return 100
            loader = DataLoader(Sized(), batch_size=5, num_workers=1, persistent_workers=True)
            for batch in loader: pass
            left = weakref.ref(loader)
            del loader, batch
            gc.collect()
            print(left())''', 'replay=10')
        self.assertEqual((run.status, run.out.strip()), (0, 'None'), run.err)

    def test_a_batch_with_values_that_is_no_mapping(self):
        run = program('''
            class Frame:
                values = torch.zeros(3)
                def keys(self): return ['x']
            seen = list(DataLoader(Numbers(), batch_size=2, collate_fn=lambda rows: Frame()))
            print(len(seen))''', 'replay=10')
        self.assertEqual((run.status, run.out.strip()), (0, '20'), run.err)

    def test_batches_of_the_programs_own_classes_come_as_they_were(self):
        run = program('''
            import collections, dataclasses, weakref
            import numpy
            @dataclasses.dataclass
            class Record:
                x: torch.Tensor
            @dataclasses.dataclass(frozen=True)
            class Fixed:
                x: torch.Tensor
            class Slots:
                __slots__ = 'x', 'unset'
                def __init__(self, x): self.x = x
            class Graph:   # as PyTorch Geometric's: what has the tensors leads back to it
                def __init__(self, x): self.nodes = {'x': x}; self.again = self; self.loader = Numbers()
                x = property(lambda self: self.nodes['x'], lambda self, x: self.nodes.update(x=x))
            class Pair(tuple):
                def __new__(cls, x, y): return tuple.__new__(cls, (x, y))
                x = property(lambda self: self[0])
            class Frozen(dict):
                def __setitem__(self, *item): raise TypeError('read-only')
                x = property(lambda self: self['x'])
            class List(list):
                def __init__(self, x): super().__init__([x])
                x = property(lambda self: self[0])
            def array(x): return x.numpy()
            for make in Record, Fixed, Slots, Graph, array, lambda x: Pair(x, x), lambda x: Frozen(x=x), List:
                seen = []
                for batch in DataLoader(Numbers(), batch_size=2, collate_fn=lambda rows: make(torch.stack(rows))):
                    x = batch if make is array else batch.x
                    seen.append([type(batch).__name__, x.tolist()])
                    assert make is not Graph or batch.again is batch and batch.loader.__class__ is Numbers
                    x *= 0
                    if make in (Record, Slots, Graph): batch.x = torch.cat([x, x])
                assert seen == seen[:10] * 2, seen
            print('fine')''', 'replay=10')
        self.assertEqual((run.status, run.out, run.err), (0, 'fine\n', ''))

    def test_a_batch_that_cannot_be_copied_is_refused(self):
        run = program('''
            class Once:
                def __init__(self): self.x = torch.zeros(2)
                def __copy__(self): raise TypeError('one of these is enough')
            try: list(DataLoader(Numbers(), batch_size=2, collate_fn=lambda rows: Once()))
            except TypeError: print('an exception of ours')''', 'replay=10')
        self.assertEqual((run.status, run.out), (125, ''), run.err)
        self.assertIn('--replay cannot be applied: a batch (Once) cannot be copied: TypeError: one of', run.err)

    def test_an_iterable_data_set_with_a_length_needs_its_loader_no_more(self):
        text = '''
            class Sized(Stream):
                def __len__(self): return 100
            epochs_ = [[b.flatten().tolist() for b in DataLoader(Sized(), batch_size=5)] for _ in range(2)]
            print(json.dumps([len(e) for e in epochs_]))'''
        run = program(text, 'replay=10')
        self.assertEqual((run.status, run.out.strip()), (0, '[20, 20]'), run.err)
        run = program(text.replace('return 100', 'raise NotImplementedError'), 'replay=10')
        self.assertEqual(run.status, 125)
        self.assertIn('no length', run.err)

    def test_arrays_count_and_a_container_has_less_memory_than_its_host(self):
        run = program('''
            import numpy
            from stallprof_hook import torch_replay
            print(torch_replay._bytes({'x': [torch.zeros(4), numpy.zeros(3)], 'y': 'text'}))
            group = '/sys/fs/cgroup/'
            files = {'/proc/meminfo': 'MemAvailable: 8000 kB\\n', '/proc/self/cgroup': '0::/a/b\\n',
                     group + 'a/memory.max': '3000\\n', group + 'a/memory.current': '1000\\n',
                     group + 'a/memory.stat': 'anon 200\\ninactive_file 800\\n', group + 'a/b/memory.max': 'max\\n'}
            def read(path):
                if path.rstrip('/') not in files: raise FileNotFoundError(path)
                return files[path]
            torch_replay._read = read
            print(torch_replay._available())
            files['/proc/self/cgroup'] = '9:name=systemd:/\\n4:memory:/x:y\\n'
            for place, limit in ('', 9223372036854771712), ('x:y/', 5000):
                files[group + 'memory/' + place + 'memory.limit_in_bytes'] = str(limit)
                files[group + 'memory/' + place + 'memory.usage_in_bytes'] = '1000'
            print(torch_replay._available())
            del files['/proc/self/cgroup']
            print(torch_replay._available())''', 'replay=10')
        self.assertEqual(run.out.split(), ['40', '2800', '4000', '8192000'], run.err)

    def test_a_subclass_of_the_program_replays_too(self):
        run = program('epochs(Mine(Counted(), batch_size=2))', 'replay=10')
        self.assertEqual(self.check(run), 20)


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Drain(unittest.TestCase):
    def test_the_loader_runs_alone_and_the_program_ends(self):
        for workers in 0, 2:
            run = program('''
                import time
                class Slow(Numbers):
                    def __getitem__(self, i):
                        time.sleep(0.004)
                        return torch.tensor([float(i)])
                train(DataLoader(Slow(), batch_size=4, num_workers=%d))
                print('not reached')''' % workers, 'drain=1')
            self.assertEqual((run.status, run.out), (0, ''), run.err)
            self.assertEqual(run.optimizer, [])
            self.assertEqual(run.setting[0].name, 'drain')
            # Not of the last fetch, which a host that stands still puts long before the end.
            self.assertGreater(time.monotonic_ns(), run.setting[0].at + 1e9)
            self.assertGreater(len({f.pass_ for f in run.fetch}), 1)   # epoch after epoch

    def test_a_subclass_of_the_program_that_makes_its_own_iterator(self):
        run = program('train(Mine(Numbers(), batch_size=4))', 'drain=1')
        self.assertEqual((run.status, run.out), (0, ''), run.err)

    def test_the_loader_of_a_training_and_not_of_an_evaluation_before_it(self):
        text = '''
            class Named(Numbers):
                def __init__(self, name): self.name = name
                def __getitem__(self, i):
                    if i == 0: print(self.name, flush=True)
                    return torch.tensor([float(i)])
            def make(name): return DataLoader(Named(name), batch_size=4)
            with torch.no_grad():
                seen = [batch[0].item() for batch in make('evaluation')]
            print(len(seen), len(set(seen)), flush=True)
            train(make('training'))'''
        run = program(text, 'drain=1', 'trains=1')
        self.assertEqual((run.status, run.optimizer), (0, []), run.err)
        first, batches, different, *rest = run.out.split()
        self.assertEqual(first, 'evaluation')
        self.assertGreater(int(batches), 1)
        self.assertEqual(batches, different)
        self.assertGreater(len(rest), 1)
        self.assertEqual(set(rest), {'training'})
        self.assertEqual([setting.name for setting in run.setting], ['drain'])
        self.assertEqual(set(program(text, 'drain=1').out.split()), {'evaluation'})

    def test_a_loader_that_is_evaluated_and_then_trained_on(self):
        run = program('''
            class Stream(torch.utils.data.IterableDataset):
                def __iter__(self): return iter([torch.tensor([float(i)]) for i in range(40)])
            with torch.no_grad():
                for batch in DataLoader(Stream(), batch_size=4): pass
            loader = DataLoader(Numbers(), batch_size=4)
            with torch.no_grad():
                for batch in loader: pass
            train(loader)''', 'drain=1', 'trains=1')
        self.assertEqual((run.status, run.optimizer), (0, []), run.err)
        self.assertEqual([setting.name for setting in run.setting], ['drain'])

    def test_a_loader_that_only_its_iterator_is_left_of(self):
        for option, out in ('drain=1', ''), ('replay=10', '[0.0]'):
            run = program("""
                print(next(iter(DataLoader(Numbers(), batch_size=1)))[0].tolist())""", option)
            self.assertEqual((run.status, run.out.strip()), (0, out), run.err)


if __name__ == '__main__':
    unittest.main(verbosity=2)
