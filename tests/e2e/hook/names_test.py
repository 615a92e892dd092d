# SPDX-License-Identifier: MIT
"""Names of a framework that have moved: the job runs as without us, and what the hook lacks is reported,
part by part. moved.py renames them in the framework itself as it is imported."""
import json
import os
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

from harness import HOOK, Run, written
from torch_case import PYTHON, TORCH, TRAIN

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, 'fake')
sys.path.append(HOOK)
from stallprof_hook import parts, torch_loader, torch_optim  # noqa: E402


class Names(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(os.path.join(HERE, 'moved.py'), self.folder + '/sitecustomize.py')

    def run_moved(self, command, words, packages, *path):
        run = Run([PYTHON] + command, path_after=(self.folder,) + path, environment={
            'MOVED': words, 'MOVED_IN': packages, 'PYTHONDONTWRITEBYTECODE': '1'})
        self.assertEqual((run.status, run.err), (0, ''), words)
        self.assertEqual({s.state for s in run.source} - {parts.ABSENT}, set(), run.source)
        return run, {s.source[len('hook.'):] for s in run.source}

    def missing(self, words, packages, lost, *command):
        """The run, in which `lost`, parts by name, are reported and named with the words."""
        run, absent = self.run_moved(list(command), words, packages, FAKE)
        self.assertEqual(absent, set(lost.split()), words)
        for source in run.source:
            self.assertRegex(source.why, r'\(\S+\) has no ' if 'torch' in packages else 'has no ')
            self.assertTrue(any(word in source.why for word in words.split()), source.why)
        return run


@unittest.skipUnless(TORCH, 'no torch for ' + PYTHON)
class Torch(Names):
    def train(self, words, lost, workers=2, packages='torch.utils.data', *more):
        run = self.missing(words, packages, lost, TRAIN, '--workers', str(workers), '--samples', '24',
                           '--sample-seconds', '0', *more)
        self.assertEqual(json.loads(run.out)['total'], 2 * 16 * sum(range(24)))
        self.assertEqual(len(run.framework) > 0, True)
        return run

    def test_nothing_is_missing_as_it_is(self):
        for workers in (0, 2):
            run = self.train('no_such_name', '', workers)
            self.assertEqual(len([f for f in run.fetch if not f.end]), 12)

    def test_without_its_fetches_a_loader_has_none(self):
        for words, lost in (('_BaseDataLoaderIter', 'torch_loader.fetches'),
                            ('_base_seed', 'torch_loader.fetches'),
                            ('_SingleProcessDataLoaderIter', 'torch_loader.fetches'),
                            ('prefetch_factor', 'torch_loader.settings')):
            run = self.train(words, lost)
            self.assertEqual((run.fetch, run.iterator, len(run.optimizer)), ([], [], 12), words)
            self.assertEqual(len(run.loader), 0 if words == 'prefetch_factor' else 1)

    def test_a_loader_in_another_module(self):
        run = Run([PYTHON, TRAIN, '--samples', '24'], path_after=(self.folder,), environment={
            'MOVED': 'dataloader', 'MOVED_IN': 'torch.utils.data', 'PYTHONDONTWRITEBYTECODE': '1'})
        self.assertEqual((run.status, run.err, run.fetch, len(run.optimizer)), (0, '', [], 12))
        source, = run.source
        self.assertEqual((source.source, source.state), ('hook.torch_loader.module', parts.ABSENT))
        self.assertIn('has its DataLoader in torch.utils.data.dataloader_moved', source.why)

    def test_a_part_is_lost_alone(self):
        for words, lost in (('_try_put_index', 'torch_loader.owners'),
                            ('_rcvd_idx', 'torch_loader.owners'),
                            ('_get_data', 'torch_loader.order')):
            run = self.train(words, lost)
            fetches = [f for f in run.fetch if not f.end]
            self.assertEqual((len(fetches), len(run.task), len(run.optimizer)), (12, 12, 12), words)
            if words != '_get_data':
                self.assertEqual({f.worker for f in fetches}, {-1}, words)

    def test_how_many_lie_ready_is_not_known(self):
        run = self.train('_sem', 'torch_loader.ready', 2, 'multiprocessing.queues')
        self.assertEqual({f.ready for f in run.fetch}, {-1})
        self.assertEqual({f.process_cpu for f in run.fetch}, {-1})   # known with no workers alone
        # What is called for it at each batch is native: in Python code Ctrl-C's exception could be raised, and lost.
        self.assertNotIsInstance(torch_loader._arrived_counter(object())[0], types.FunctionType)

    def test_epochs_of_persistent_workers(self):
        run = self.train('_reset', 'torch_loader.epochs', 2, 'torch.utils.data', '--persistent')
        self.assertEqual(len([f for f in run.fetch if not f.end]), 12)
        self.train('_ResumeIteration', 'torch_worker.epochs', 2, 'torch.utils.data', '--persistent')

    def test_no_workers(self):
        self.train('_num_yielded', 'torch_loader.in_process', 0)

    def test_what_workers_do(self):
        for words in ('_worker_loop', 'index_queue'):
            run = self.train(words, 'torch_worker.batches')
            self.assertEqual((run.task, run.worker), ([], []))
            self.assertEqual(len([f for f in run.fetch if not f.end]), 12)

    def test_optimizers(self):
        words = '_hook_for_profile' if TORCH.startswith('1.') else 'hook'
        run = self.train(words, 'torch_optim.steps', 2, 'torch.optim.optimizer')
        self.assertEqual((run.optimizer, len([f for f in run.fetch if not f.end])), ([], 12))

    def test_checkpoints(self):
        run = self.missing('obj', 'torch.serialization', 'torch_save.checkpoints', '-c',
                           'import torch; torch.save([1], "%s/saved")' % self.folder)
        self.assertEqual(run.span, [])


class Fakes(Names):
    """Other frameworks, by the fakes of their tests."""

    def test_each_framework(self):
        for words, package, lost, program in (
                ('_next_internal', 'tensorflow', 'tf_data.fetches',
                 'from tensorflow.python.data.ops.iterator_ops import RangeDataset\n'
                 'for _ in RangeDataset(2, 0): pass'),
                ('make_train_function', 'keras', 'tf_keras.steps',
                 'import keras.src.backend.tensorflow.trainer'),
                ('BaseOptimizer', 'keras', 'tf_steps.optimizers',
                 'import keras.src.optimizers.base_optimizer'),
                ('Function', 'tensorflow.python.eager', 'tf_steps.functions',
                 'import tensorflow.python.eager.polymorphic_function.polymorphic_function'),
                ('update', 'xgboost', 'boosting.rounds', 'import xgboost.core'),
                ('boost', 'xgboost', 'boosting.own_rounds', 'import xgboost.core'),
                ('PjitFunction', 'jax', 'jax_steps.calls', 'import jax'),
                ('record_event_duration_secs', 'jax._src.monitoring', 'jax_compiles.compilations',
                 'import jax._src.monitoring'),
                ('linearize vjp', 'jax._src.interpreters.ad', 'jax_steps.gradients',
                 'import jax._src.interpreters.ad'),
                ('apply_updates', 'optax._src.update', 'jax_steps.updates', 'import optax._src.update')):
            with self.subTest(words):
                self.missing(words, package, lost, '-c', program)


class OtherLoaders(Names):
    """What is not supported says so where it is iterated, and not where it is only imported."""

    LOADERS = (('grain/_src/python/dataset/dataset.py', 'DatasetIterator', '__init__', 'grain'),
               ('torchdata/nodes/loader.py', 'Loader', '__iter__', 'torchdata_nodes'),
               ('nvidia/dali/plugin/base_iterator.py', '_DaliBaseIterator', '__iter__', 'dali'),
               ('ffcv/loader/loader.py', 'Loader', '__iter__', 'ffcv'),
               ('ray/data/iterator.py', 'DataIterator', 'iter_batches', 'ray_data'))

    def test_each(self):
        for path, kind, method, name in self.LOADERS:
            written(os.path.join(self.folder, path),
                    'class %s:\n def %s(self): return iter(())\n' % (kind, method)
                    if method != '__init__' else
                    'class %s:\n def __init__(self): pass\n' % kind)
            module = path[:-3].replace('/', '.')
            for use, found in ((False, set()), (True, {'other_loaders.' + name})):
                program = 'from %s import %s as kind\n' % (module, kind) + \
                    ('for _ in range(2): kind()%s\n' % ('' if method == '__init__' else '.%s()' % method)) * use
                with self.subTest(name, used=use):
                    run, absent = self.run_moved(['-c', program], '', '')
                    self.assertEqual((absent, len(run.source)), (found, len(found)))

    def test_a_tf_data_service(self):
        run = Run([PYTHON, '-c', 'from tensorflow.python.data.ops.iterator_ops import RangeDataset\n'
                                 'class _DataServiceDatasetV2(RangeDataset): pass\n'
                                 'for _ in _DataServiceDatasetV2(2, 0): pass'], path_after=(FAKE,))
        self.assertEqual((run.err, len([f for f in run.fetch if not f.end])), ('', 2))
        self.assertEqual([(s.source, s.state) for s in run.source], [('hook.tf_data.service', parts.PARTIAL)])


class Versions(unittest.TestCase):
    def test_whether_torch_compiles_is_asked_where_that_version_has_it(self):
        for version, where in (('2.0.1', 'torch._utils'), ('2.1.0a0+29c30b1', 'torch._utils'),
                               ('2.2.2', 'torch._utils'), ('2.3.1', 'torch._utils'),
                               ('2.4.0', 'torch.compiler'), ('2.11.0', 'torch.compiler')):
            fakes = {name: types.ModuleType(name) for name in ('torch', 'torch.version', 'torch._utils')}
            fakes['torch.version'].__version__ = version
            compiler = fakes['torch'].compiler = types.ModuleType('torch.compiler')
            asked = compiler if where == 'torch.compiler' else fakes[where]
            asked.is_compiling = lambda: where
            with mock.patch.dict(sys.modules, fakes):
                self.assertEqual(torch_optim.compiling_check()(), where, version)


class Tables(unittest.TestCase):
    """What a name of a table asks for."""

    def test_a_name_a_parameter_and_a_class_that_is_not_the_modules(self):
        module = types.ModuleType('module')
        exec('class Kind:\n def method(self, one, *, two=1): pass\nvalue = 1\n'
             'def decorated(*args, **more): pass\n', vars(module))
        for name, there in (('Kind.method', True), ('Kind.method(self, one)', True),
                            ('Kind.method(two)', True), ('decorated(self, one)', True),
                            ('Kind.method(three)', False), ('Kind.other', False), ('None.method', False),
                            ('value', True), ('value()', False), ('Kind.__str__', False)):
            self.assertEqual(parts._has(module, name), there, name)

    def test_of_several_names_one_is_enough_where_that_is_said(self):
        module, replaced = types.ModuleType('module'), []
        module.__dict__.update(a=len, b=len)
        some = parts.Parts('adapter', parts.Part('either', '', 'a', 'c', any_of=True), parts.Part('both', '', 'b', 'c'))
        self.assertEqual(some.install(module, dict.fromkeys('abc', replaced.append)), {'either'})
        self.assertEqual(replaced, [len])


if __name__ == '__main__':
    unittest.main()
