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
        for step in run.optimizer[:6]:  # the get-next is a part of the call
            self.assertGreaterEqual(step.duration, 30e6)
        self.assertEqual(run.fetch, [])

    def test_the_programs_function_still_looks_like_itself(self):
        run = script(KERAS + '''
    model = TensorFlowTrainer(0.001)
    model.fit(RangeDataset(3, 0.001), epochs=1)
    assert model.train_function.__name__ == 'function'
    ''')
        self.assertEqual((run.err, len(run.optimizer)), ('', 3))


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
