# SPDX-License-Identifier: MIT
"""The TensorFlow adapter: on a fake `tensorflow` of a hundred lines everywhere, and on the real one
where STALLPROF_TF names an interpreter that has it."""
import json
import os
import subprocess
import sys
import textwrap
import unittest

from harness import Run

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = os.environ.get('STALLPROF_TF', '')


def script(text, python=sys.executable, path=(os.path.join(HERE, 'fake'),), **environment):
    run = Run([python, '-c', textwrap.dedent(text)], path_after=path, environment=environment)
    if run.status != 0:
        raise AssertionError(run.err)
    run.batches = [f for f in run.fetch if not f.end]
    return run


class Eager(unittest.TestCase):
    def test_each_get_next_is_a_fetch(self):
        run = script('''\
            import json, time
            from tensorflow.python.data.ops.iterator_ops import *
            data = _OptionsDataset(_PrefetchDataset(_BatchDataset(CacheDataset(_ParallelMapDataset(
                RangeDataset(4, 0.01), _num_parallel_calls=-1)), _batch_size=8), _buffer_size=2))
            waits = []
            for _ in range(2):
                it = iter(data)
                while True:
                    begin = time.monotonic_ns()
                    if next(it, None) is None: break
                    waits.append(time.monotonic_ns() - begin)
            print(json.dumps(waits))
            '''.replace('import *', 'import (_OptionsDataset, _PrefetchDataset, _BatchDataset, '
                        'CacheDataset, _ParallelMapDataset, RangeDataset)'))
        waits = json.loads(run.out)
        self.assertEqual([(f.pass_, f.batch) for f in run.batches],
                         [(p, b) for p in (1, 2) for b in range(4)])
        for fetch, own in zip(run.batches, waits):
            self.assertLessEqual(fetch.duration, own)
            self.assertGreaterEqual(fetch.duration, 10000000)
        self.assertEqual(sum(f.end for f in run.fetch), 2)
        loader, = run.loader
        self.assertEqual((loader.kind, loader.batch_size, loader.prefetch, loader.workers,
                          loader.file, loader.line), ('tf.data', 8, 2, 0, '<string>', 7))
        self.assertEqual(loader.dataset, 'Range.ParallelMap(auto).Cache.Batch(8).Prefetch(2)')
        self.assertEqual(run.framework[0].name, 'tensorflow')

    def test_beside_a_busy_program_what_is_waited_for_is_in_the_fetches(self):
        """A thread that read its CPU clock at each would lose its CPU there, before the fetch began."""
        run = script('''\
            import hashlib, os, subprocess, time
            from tensorflow.python.data.ops.iterator_ops import OwnedIterator, RangeDataset
            def element(iterator):
                if iterator.at == 300: raise IndexError
                iterator.at += 1
                return hashlib.sha256(block).digest()
            OwnedIterator._element, block = element, bytes(2 << 20)
            os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
            other = subprocess.Popen(['sh', '-c', 'while :; do :; done'])
            waited, it, begin = 0, iter(RangeDataset(300, 0)), time.monotonic_ns()
            while next(it, None) is not None:
                end = time.monotonic_ns()
                waited += end - begin
                hashlib.sha256(block).digest()
                begin = time.monotonic_ns()
            other.kill()
            other.wait()
            print(waited)
            ''')
        self.assertEqual(len(run.batches), 300)
        self.assertGreater(sum(f.duration for f in run.batches), 0.8 * int(run.out))
        self.assertLess(sum(f.cpu for f in run.batches), 0.8 * int(run.out))

    def test_batches_of_a_distributed_data_set_are_fetches(self):
        run = script('''\
            from tensorflow.python.data.ops.iterator_ops import RangeDataset
            def distributed(data):
                iterator = iter(data)
                while True:
                    optional = iterator.get_next_as_optional()
                    if optional.value is None:
                        return next(iterator, None)
                    yield optional.value
            for _ in range(2):
                print(sum(distributed(RangeDataset(3, 0.01))))
            for _ in distributed(RangeDataset(3, 0.01)):
                break
            ''')
        self.assertEqual(run.out, '6\n6\n')
        self.assertEqual([(f.pass_, f.batch) for f in run.batches],
                         [(p, b) for p in (1, 2) for b in range(3)] + [(3, 0)])
        self.assertTrue(all(f.duration >= 10000000 for f in run.batches))
        self.assertEqual([f.pass_ for f in run.fetch if f.end], [1, 2])

    def test_an_iterator_that_goes_is_loading_while_its_pipeline_stops(self):
        run = script('''\
            from tensorflow.python.data.ops.iterator_ops import RangeDataset
            for _ in range(2):
                for _ in RangeDataset(1, 0): pass
            kept = iter(RangeDataset(1, 0))
            ''')
        self.assertEqual(run.err, '')
        self.assertEqual([(s.phase, s.source, s.name) for s in run.span[:2]],
                         [(3, 2, 'tf.data iterator')] * 2)
        for span in run.span[:2]:
            self.assertGreaterEqual(span.duration, 20e6)


KERAS = '''\
    import time, tensorflow
    from tensorflow.python.eager import context
    from tensorflow.python.data.ops.iterator_ops import RangeDataset
    from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
    '''


class Keras(unittest.TestCase):
    def test_fit_has_a_step_each_call_and_evaluation_none(self):
        run = script(KERAS + '''
    model = TensorFlowTrainer(0.01)
    model.fit(RangeDataset(3, 0.02), epochs=2)
    model.evaluate(RangeDataset(2, 0.03))
    model.fit(RangeDataset(1, 0), epochs=1)
    ''')
        self.assertEqual([o.optimizer for o in run.optimizer], [1] * 7)
        self.assertEqual({o.steps for o in run.optimizer}, {1})
        for step in run.optimizer[:6]:  # the get-next is a part of the call
            self.assertGreaterEqual(step.duration, 30e6)
        self.assertEqual(run.fetch, [])

    def test_a_call_of_many_steps_says_how_many_the_data_left_for_it(self):
        run = script(KERAS + '''
    from tensorflow.python.data.ops.iterator_ops import FilterDataset
    model = TensorFlowTrainer(0)
    model.steps_per_execution = 4
    model.fit(RangeDataset(10, 0), epochs=2)
    model.fit(FilterDataset(6, 0), epochs=1)
    ''')
        self.assertEqual([o.steps for o in run.optimizer], [4, 4, 2] * 2 + [4, 4])

    def test_the_programs_function_still_appears_as_itself(self):
        run = script(KERAS + '''
    model = TensorFlowTrainer(0.001)
    model.fit(RangeDataset(3, 0.001), epochs=1)
    assert model.train_function.__name__ == 'function'
    ''')
        self.assertEqual((run.err, len(run.optimizer)), ('', 3))

    def test_a_model_that_nobody_holds_is_freed(self):
        run = script(KERAS + '''
    import gc, weakref
    model = TensorFlowTrainer(0)
    model.fit(RangeDataset(1, 0), epochs=1)
    model = weakref.ref(model)
    gc.collect()
    print(model())
    ''')
        self.assertEqual((run.out, len(run.optimizer)), ('None\n', 1))

    def test_fit_on_jax_has_its_steps_too(self):
        run = script('''\
    from keras.src.backend.jax.trainer import JAXTrainer
    JAXTrainer().fit(5)
    ''')
        self.assertEqual([(o.optimizer, o.steps) for o in run.optimizer], [(1, 1)] * 5)
        self.assertEqual([f.name for f in run.framework], ['jax'])

    def test_keras_2_keeps_what_the_call_returns(self):
        run = script('''\
    from keras.src.engine.training import Model
    model = Model()
    model.fit(3, epochs=2)
    model.fit(1, epochs=1)
    many = Model(steps_per_execution=4)
    many.fit(10, epochs=2)
    assert many.train_function.__name__ == '<lambda>'
    ''')
        self.assertEqual([(o.optimizer, o.steps) for o in run.optimizer],
                         [(1, 1)] * 7 + [(2, 4), (2, 4), (2, 2)] * 2)


LOOP = '''\
    import tensorflow
    from tensorflow.python.eager.polymorphic_function.polymorphic_function import (
        Function, while_loop)
    from keras.src.optimizers.base_optimizer import BaseOptimizer, Scaled
    optimizer = BaseOptimizer()
    '''


class OwnLoop(unittest.TestCase):
    def test_an_eager_call_of_an_optimizer_is_a_step(self):
        run = script(LOOP + '''
    other = BaseOptimizer()
    for _ in range(3):
        optimizer.apply([])
    Scaled(other).apply([])
    assert optimizer.applied == 3 and other.applied == 1
    ''')
        first, last = run.optimizer[0].optimizer, run.optimizer[-1].optimizer
        self.assertEqual([o.optimizer for o in run.optimizer], [first] * 3 + [last])
        self.assertNotEqual(first, last)

    def test_a_call_of_a_function_that_holds_an_optimizer_is_a_step(self):
        run = script(LOOP + '''
    inner = Function(lambda: optimizer.apply([]))
    step = Function(lambda *batch: inner())
    plain = Function(lambda: None)
    for batch in ([], [], [1], []):
        step(*batch)
        plain()
    print(step.traces, inner.traces, plain.traces, optimizer.applied)
    ''')
        self.assertEqual(run.out, '2 0 1 4\n')
        self.assertEqual(len({o.optimizer for o in run.optimizer}), 1)
        self.assertEqual(len(run.optimizer), 4)

    def test_a_function_that_replicas_trace_in_threads_of_their_own_is_a_step(self):
        run = script(LOOP + '''
    import threading
    class _MirroredReplicaThread(threading.Thread):
        pass
    def on_replicas():
        thread = _MirroredReplicaThread(target=optimizer.apply, args=([],))
        thread.start()
        thread.join()
    step = Function(on_replicas)
    for _ in range(3):
        step()
    print(step.traces, optimizer.applied)
    ''')
        self.assertEqual((run.out, len(run.optimizer)), ('1 3\n', 3))

    def test_a_loop_in_the_graph_is_no_step(self):
        run = script(LOOP + '''
    epoch = Function(lambda: while_loop(5, lambda: optimizer.apply([])))
    epoch()
    epoch()
    print(optimizer.applied)
    ''')
        self.assertEqual((run.out, run.optimizer), ('10\n', []))

    def test_a_function_whose_tracing_fails_stays_what_it_is(self):
        run = script(LOOP + '''
    def fails(*args):
        optimizer.apply([])
        raise ValueError('theirs')
    step = Function(fails)
    for _ in range(2):
        try:
            step()
        except ValueError as error:
            print(error)
    print(Function.__call__.__name__, BaseOptimizer.apply.__qualname__)
    ''')
        self.assertEqual(run.out, 'theirs\ntheirs\n__call__ BaseOptimizer.apply\n')
        self.assertEqual(run.optimizer, [])

    def test_calls_inside_of_fit_are_not_counted_again(self):
        run = script(LOOP.rstrip(' ') + KERAS + '''
    class Model(TensorFlowTrainer):
        def _function(self, seconds):
            def function(iterator):
                iterator.get_next()
                optimizer.apply([])
            return function
    Model(0).fit(RangeDataset(3, 0), epochs=1)
    ''')
        self.assertEqual(([o.optimizer for o in run.optimizer], run.err), ([1] * 3, ''))


PIPELINE = LOOP.rstrip(' ') + '''\
    from tensorflow.python.data.ops.dataset_ops import DatasetV2
    from tensorflow.python.data.ops.iterator_ops import RangeDataset
    def train(data, epochs=2):
        for _ in range(epochs):
            for _ in data:
                optimizer.apply([])
    data = DatasetV2(RangeDataset(2, 0))
    '''


def changed(text, *settings, status=0):
    """What ran with these settings, and what of it was changed."""
    run = Run([sys.executable, '-c', textwrap.dedent(text)], path_after=(os.path.join(HERE, 'fake'),),
              environment={'STALLPROF_OVERRIDES': ''.join(s + '\n' for s in settings)})
    if run.status != status:
        raise AssertionError(run.err)
    return run, [(s.name, s.before, s.after, s.line) for s in run.setting]


class Settings(unittest.TestCase):
    def test_each_map_of_the_program_runs_its_calls_at_once(self):
        run, settings = changed(PIPELINE + '''
    data = data.map(len).interleave(len, 4, num_parallel_calls=2)
    train(data)
    ''', 'num_parallel_calls=auto')
        self.assertEqual(settings, [('num_parallel_calls', 'None', 'auto', 14), ('num_parallel_calls', '2', 'auto', 14)])
        self.assertEqual([loader.dataset for loader in run.loader], ['Range.ParallelMap(auto).Interleave(auto)'])
        self.assertEqual(len(run.optimizer), 4)

    def test_a_pipeline_ends_with_the_buffer_that_was_asked_for_in_the_place_of_its_own(self):
        run, settings = changed(PIPELINE + '''
    train(data.prefetch(1))
    ''', 'prefetch=7', 'private_threadpool_size=3')
        self.assertEqual([s[:3] for s in settings], [('private_threadpool_size', 'None', '3'), ('prefetch', '1', '7')])
        self.assertEqual([loader.dataset for loader in run.loader], ['Range.Prefetch(7)'])

    def test_a_py_dataset_gets_its_threads_before_keras_makes_them(self):
        run, settings = changed(LOOP + '''
    from keras.src.trainers.data_adapters.py_dataset_adapter import PyDataset, PyDatasetAdapter
    print(PyDatasetAdapter(PyDataset()).threads)
    optimizer.apply([])
    ''', 'workers=4')
        self.assertEqual((run.out, [s[:3] for s in settings]), ('4\n', [('workers', '1', '4')]))

    def test_what_the_program_has_no_place_for_ends_it_before_its_first_step(self):
        for setting, lacks in (('num_parallel_calls=2', 'no Dataset.map or interleave of tf.data'),
                               ('workers=2', 'no PyDataset of Keras')):
            run, _ = changed(PIPELINE + '\n    train(data)\n', setting, status=125)
            self.assertEqual(run.optimizer, [])
            self.assertIn('--set %s cannot be applied: the program trains, and has made %s' % (
                setting.split('=')[0], lacks), run.err)


class Boosting(unittest.TestCase):
    def test_each_round_is_a_step_of_its_booster(self):
        run = script('''\
            import xgboost
            one, other = xgboost.Booster(), xgboost.Booster()
            for i in range(3):
                one.update([1], i)
                other.update([1], i, objective=len)
            other.boost([1], 3)
            try:
                other.update(None, 4, objective=len)
            except ValueError:
                pass
            print(one.rounds, other.rounds)
            ''')
        self.assertEqual(run.out, '3 4\n')
        self.assertEqual([o.optimizer for o in run.optimizer], [1, 2] * 3 + [2])
        self.assertEqual(run.framework[0][3:5], ('xgboost', '3.fake'))


@unittest.skipUnless(REAL, 'STALLPROF_TF names no interpreter')
class RealTensorFlow(unittest.TestCase):
    def test_fit_and_a_loop_of_ones_own(self):
        run = script('''
            import os, time
            import tensorflow as tf, keras
            def slow(i):
                return tf.reduce_sum(tf.linalg.svd(tf.random.stateless_uniform(
                    [90, 90], [1, tf.cast(i, tf.int32)]), compute_uv=False)) + tf.zeros([4])
            data = tf.data.Dataset.range(80).map(slow).batch(8, drop_remainder=True)
            begin = time.monotonic()
            for x in data: pass
            eager = time.monotonic() - begin
            model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
            model.compile(optimizer='sgd', loss='mse')
            model.fit(data.map(lambda x: (x, x[:, 0])), epochs=2, verbose=0)
            print(eager)
            ''', python=REAL, path=(), TF_CPP_MIN_LOG_LEVEL='3')
        loop = [f for f in run.batches if f.loader == 1]
        self.assertEqual((len(loop), len(run.batches), len(run.optimizer)), (10, 10, 20))
        self.assertEqual(loop[0].bytes, 8 * 4 * 4)
        waited = sum(f.duration for f in loop) / 1e9
        self.assertTrue(0.7 * float(run.out) < waited <= float(run.out), (waited, run.out))

    def test_a_compiled_step_of_ones_own_is_traced_as_often_and_into_the_same_graph(self):
        text = '''
            import tensorflow as tf, keras, hashlib
            model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
            optimizer = keras.optimizers.Adam()
            @tf.function
            def inner(x):
                return tf.reduce_sum(model(x, training=True) ** 2)
            @tf.function
            def step(x):
                with tf.GradientTape() as tape:
                    error = inner(x)
                optimizer.apply_gradients(zip(tape.gradient(error, model.trainable_variables),
                                              model.trainable_variables))
                return error
            @tf.function
            def evaluate(x):
                return inner(x)
            for size in (8, 8, 3, 8):
                step(tf.ones([size, 4]))
                evaluate(tf.ones([size, 4]))
            for f in (inner, step, evaluate):
                print(f.experimental_get_tracing_count())
            graph = step.get_concrete_function(tf.ones([8, 4])).graph
            print([(o.type, o.name) for o in graph.get_operations()])
            '''
        hooked = script(text, python=REAL, path=(), TF_CPP_MIN_LOG_LEVEL='3')
        env = {k: v for k, v in os.environ.items() if k not in ('STALLPROF_EVENTS', 'PYTHONPATH')}
        alone = subprocess.run([REAL, '-c', textwrap.dedent(text)], env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        self.assertEqual(hooked.out, alone.stdout.decode())
        self.assertEqual(len(hooked.optimizer), 4)

    def test_settings_of_pipelines_and_py_datasets_take_effect(self):
        text = '''
            import os, sys, threading
            import tensorflow as tf, keras
            threads = set()
            class Sequence(keras.utils.PyDataset):
                def __len__(self): return 12
                def __getitem__(self, i):
                    threads.add(threading.current_thread().name)
                    return tf.ones([8, 4]), tf.ones([8, 1])
            data = tf.data.Dataset.range(64).map(lambda i: tf.zeros([4]) + tf.cast(i, tf.float32)).batch(8)
            seen = [float(x[0, 0]) for x in data]
            model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
            model.compile(optimizer='sgd', loss='mse')
            model.fit(Sequence(), epochs=1, verbose=0)
            model.fit(data.map(lambda x: (x, x[:, :1])), epochs=2, verbose=0)
            print(seen, 'MainThread' in threads)
            '''
        plain = script(text, python=REAL, path=(), TF_CPP_MIN_LOG_LEVEL='3')
        run = script(text, python=REAL, path=(), TF_CPP_MIN_LOG_LEVEL='3', STALLPROF_OVERRIDES=(
            'num_parallel_calls=2\nprefetch=auto\nprivate_threadpool_size=1\nworkers=2\n'))
        order = plain.out.split('] ')[0]
        self.assertEqual(order, run.out.split('] ')[0])
        self.assertEqual({s.name for s in run.setting},
                         {'num_parallel_calls', 'prefetch', 'private_threadpool_size', 'workers'})
        self.assertIn('Range.ParallelMap(2).Batch(8).Prefetch(auto)', {loader.dataset for loader in run.loader})
        self.assertEqual(len(run.optimizer), len(plain.optimizer))
        self.assertNotIn('MainThread', run.out)

    def test_a_seeded_fit_gives_the_same_weights(self):
        text = '''
            import tensorflow as tf, keras
            keras.utils.set_random_seed(3)
            model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8),
                                      keras.layers.Dropout(0.5), keras.layers.Dense(1)])
            model.compile(optimizer='adam', loss='mse')
            data = tf.data.Dataset.from_tensor_slices((tf.random.normal([64, 4]), tf.ones([64])))
            model.fit(data.shuffle(64).batch(8), epochs=2, verbose=0)
            print([w.tolist() for w in model.get_weights()], tf.random.normal([2]).numpy())
            '''
        hooked = script(text, python=REAL, path=(), TF_CPP_MIN_LOG_LEVEL='3')
        env = {k: v for k, v in os.environ.items() if k not in ('STALLPROF_EVENTS', 'PYTHONPATH')}
        alone = subprocess.run([REAL, '-c', textwrap.dedent(text)], env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        self.assertEqual(len(hooked.optimizer), 16)
        self.assertEqual(hooked.out, alone.stdout.decode())


if __name__ == '__main__':
    unittest.main()
