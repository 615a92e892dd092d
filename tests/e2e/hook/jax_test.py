# SPDX-License-Identifier: MIT
"""The JAX adapter: on a fake `jax` and `optax` of a page everywhere, and on the real ones where
STALLPROF_JAX names an interpreter that has them."""
import collections
import os
import subprocess
import sys
import textwrap
import unittest

from harness import Run

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = os.environ.get('STALLPROF_JAX', '')

FAKE = '''
import jax
from jax import Array
def batch(): return Array(0), Array(1)
def loss(w, x, y): return w
def by_hand(w, x, y):
    jax.gradient(loss, w, x, y)
    return {'a': Array(0), 'b': [Array(1)]}
weights = by_hand(None, None, None)
'''


def steps(text, head=FAKE, python=sys.executable, path=(os.path.join(HERE, 'fake'),)):
    """How many steps each number was reported for."""
    run = Run([python, '-c', head + textwrap.dedent(text)], path_after=path)
    if run.status != 0 or run.err:
        raise AssertionError(run.err)
    for before, after in zip(run.optimizer, run.optimizer[1:]):
        assert before.at + before.duration <= after.at, (before, after)
    return sorted(collections.Counter(step.optimizer for step in run.optimizer).values())


class ByHand(unittest.TestCase):
    def test_each_call_is_a_step(self):
        self.assertEqual(steps('''
            step = jax.jit(by_hand)
            for _ in range(50):
                weights = step(weights, *batch())
            '''), [50])

    def test_a_batch_that_goes_through_many_times_is_one(self):
        self.assertEqual(steps('''
            step = jax.jit(by_hand)
            for _ in range(50):
                x, y = batch()
                for _ in range(6):
                    weights = step(weights, x, y)
            '''), [50])

    def test_with_all_data_each_time_each_call_is_one(self):
        self.assertEqual(steps('''
            step = jax.jit(by_hand)
            x, y = batch()
            for _ in range(300):
                weights = step(weights, x, y)
            '''), [300])

    def test_where_they_are_called_from_is_reported_once(self):
        run = Run([sys.executable, '-c', FAKE + textwrap.dedent('''
            step = jax.jit(by_hand)
            def update(weights):
                return step(weights, *batch())
            for _ in range(50):
                weights = update(weights)
            ''')], path_after=(os.path.join(HERE, 'fake'),))
        self.assertEqual((run.status, run.err), (0, ''))
        lines = [(place.function, place.line) for place in run.place]
        first = FAKE.count('\n') + 2   # `step = ...`
        self.assertEqual(lines, [('update', first + 2), ('<module>', first + 4)])
        self.assertEqual({place.optimizer for place in run.place}, {step.optimizer for step in run.optimizer})

    def test_where_they_are_called_from_is_reported_when_it_changes_eight_times_at_most(self):
        run = Run([sys.executable, '-c', FAKE + textwrap.dedent('''
            step = jax.jit(by_hand)
            for _ in range(30):
                weights = step(weights, *batch())
            for _ in range(30):
                weights = step(weights, *batch())
                weights = step(weights, *batch())
            ''')], path_after=(os.path.join(HERE, 'fake'),))
        self.assertEqual((run.status, run.err), (0, ''))
        first = FAKE.count('\n') + 2   # `step = ...`
        self.assertEqual([place.line - first for place in run.place], [2, 4, 5, 4, 5, 4, 5, 4])
        self.assertEqual(len(run.optimizer), 90)

    def test_gradients_that_do_not_come_back_are_no_steps(self):
        self.assertEqual(steps('''
            gradients = jax.jit(by_hand)
            for _ in range(300):
                gradients(weights, *batch())
            '''), [])

    def test_a_key_that_comes_back_beside_gradients_makes_no_step(self):
        self.assertEqual(steps('''
            gradients = jax.jit(lambda w, x, y, key: (by_hand(w, x, y), Array(0)))
            key = Array(0)
            for _ in range(300):
                _, key = gradients(weights, *batch(), key)
            '''), [])

    def test_few_calls_in_a_row_are_no_training(self):
        self.assertEqual(steps('''
            attack = jax.jit(by_hand)
            for _ in range(50):
                given = by_hand(None, None, None)
                for _ in range(10):
                    given = attack(given, *batch())
            '''), [])

    def test_a_loop_in_the_graph_leaves_the_steps_unknown(self):
        self.assertEqual(steps('''
            def epoch(w, x, y):
                return jax.scan(lambda w, _: by_hand(w, x, y), w, range(5))
            epoch = jax.jit(epoch)
            for _ in range(100):
                weights = epoch(weights, *batch())
            '''), [])

    def test_functions_without_gradients_are_no_steps(self):
        self.assertEqual(steps('''
            move = jax.jit(lambda w: Array(0))
            at = Array(0)
            for _ in range(100):
                at = move(at)
            '''), [])

    def test_where_a_million_calls_are_no_step_the_calls_are_the_librarys_own_again(self):
        self.assertEqual(steps('''
            from jaxlib._jax import PjitFunction
            def call(): return type(PjitFunction.__dict__['__call__']).__name__
            move = jax.jit(lambda w: w)
            assert call() == 'Around', call()
            for _ in range((1 << 20) - 1): move(0)
            assert call() == 'Around', call()
            assert move(5) == 5
            assert call() == 'function', call()
            step = jax.jit(by_hand)
            for _ in range(50):
                weights = step(weights, *batch())
            '''), [])

    def test_what_raises_is_no_step_and_the_programs_own(self):
        self.assertEqual(steps('''
            def fails(w, x, y):
                new = by_hand(w, x, y)
                if x.value: raise KeyError(x.value)
                return new
            step = jax.jit(fails)
            for i in range(50):
                x, y = batch()
                x.value = i == 30
                try:
                    weights = step(weights, x, y)
                except KeyError as error:
                    assert error.args == (True,)
            '''), [49])


OPTAX = FAKE + '''
import optax
def update(w, x, y): return optax.apply_updates(w, by_hand(w, x, y))
'''


class WithOptax(unittest.TestCase):
    def test_each_call_is_a_step_from_the_first(self):
        self.assertEqual(steps('''
            step = jax.jit(update)
            state = Array(0)   # says nothing of what is in it
            for _ in range(25):
                step(state, *batch())
            ''', OPTAX), [25])

    def test_each_network_has_its_own(self):
        self.assertEqual(steps('''
            class Empty(tuple): pass   # a state without anything in it
            one, two = jax.jit(update), jax.jit(lambda w, x, y, s: (update(w, x, y), s))
            for _ in range(40):
                x, y = batch()
                one(weights, x, y)
                two(weights, x, y, Empty())
            ''', OPTAX), [40, 40])

    def test_gradients_of_something_else_are_no_steps(self):
        self.assertEqual(steps('''
            attack, step = jax.jit(by_hand), jax.jit(update)
            x = by_hand(None, None, None)
            for _ in range(30):
                for _ in range(10): x = attack(x, *batch())
                weights = step(weights, *batch())
            ''', OPTAX), [30])

    def test_eager_updates_are_steps(self):
        self.assertEqual(steps('''
            gradients = jax.jit(by_hand)
            for i in range(60):
                found = gradients(weights, *batch())
                if i % 2: weights = optax.apply_updates(weights, found)
            ''', OPTAX), [30])

    def test_code_that_is_made_for_each_update_is_one_place_at_last(self):
        self.assertEqual(steps('''
            gradients = jax.jit(by_hand)
            for i in range(100):
                found = gradients(weights, *batch())
                exec('weights, i = optax.apply_updates(weights, found), %d' % i)
            ''', OPTAX), [1] * 64 + [36])

    def test_what_was_compiled_alone_counts_in_another(self):
        self.assertEqual(steps('''
            inner = jax.jit(update)
            inner(weights, *batch())
            outer = jax.jit(lambda w, x, y: inner(w, x, y))
            for _ in range(40):
                weights = outer(weights, *batch())
            ''', OPTAX), [40])

    def test_what_is_traced_later_counts_from_then_on(self):
        self.assertEqual(steps('''
            step = jax.jit(lambda w, x, y, static: update(w, x, y) if static == 'train' else w)
            for _ in range(5):
                step(weights, *batch(), static='test')
            for i in range(40):
                weights = step(weights, *batch(), static='train')
                if i > 30: step(weights, *batch(), static='test')
            ''', OPTAX), [40])

    def test_what_is_compiled_without_an_update_is_no_step(self):
        self.assertEqual(steps('''
            step = jax.jit(lambda w, x, y, static: update(w, x, y) if static == 'train' else w)
            for i in range(40):
                weights = step(weights, *batch(), static='train')
                step(weights, *batch(), static='test')
            ''', OPTAX), [40])

    def test_what_needs_no_compiling_is_one_whatever_its_arguments_say(self):
        self.assertEqual(steps('''
            step = jax.jit(lambda w, x, y, first: update(w, x, y))
            for i in range(40):
                weights = step(weights, *batch(), i < 5)
            ''', OPTAX), [40])

    def test_nothing_is_held(self):
        self.assertEqual(steps('''
            import weakref
            step = jax.jit(update)
            for _ in range(3):
                x, y = batch()
                seen = weakref.ref(x)
                weights = step(weights, x, y)
                del x
                assert seen() is None
            ''', OPTAX), [])


COMPILES = FAKE + '''
from jax._src import monitoring
from numpy_like import Array as Given
KINDS = {'trace': 'jaxpr_trace', 'lower': 'jaxpr_to_mlir_module', 'compile': 'backend_compile'}
def compiled(fun):
    def cache_miss(*args, **kwargs):
        for kind, name in (('trace', 'update'), ('lower', 'jit(update)'), ('compile', 'jit(update)')):
            monitoring.record_event_duration_secs(
                '/jax/core/compile/%s_duration' % KINDS[kind], 0.002, fun_name=name)
        return fun
    return cache_miss
'''


class Compilations(unittest.TestCase):
    def spans(self, text):
        run = Run([sys.executable, '-c', COMPILES + textwrap.dedent(text)],
                  path_after=(os.path.join(HERE, 'fake'),))
        self.assertEqual((run.status, run.err), (0, ''))
        self.assertTrue(all(s.phase == 4 and s.duration == 2_000_000 and s.file == '<string>' for s in run.span))
        return [s.name for s in run.span]

    def test_each_part_is_a_span_and_what_changed_is_said(self):
        self.assertEqual(self.spans('''
            step = compiled(lambda w, x: None)
            for n in (3, 3, 4):
                step([Given(2)], Given(n))
            '''), ['jax.trace update', 'jax.lower update', 'jax.compile update'] * 2
            + ['jax.trace update', 'jax.lower update', 'jax.compile update: x f4[4] after f4[3]'])

    def test_a_function_that_is_new_each_time_is_said_to_be(self):
        self.assertEqual(self.spans('''
            for _ in range(2):
                compiled(lambda w, x: None)([Given(2)], Given(3))
            ''')[-1], 'jax.compile update: a new function each time')

    def test_a_value_that_is_compiled_in_is_named(self):
        self.assertEqual(self.spans('''
            step = compiled(lambda x, rate: None)
            for rate in (1, 2):
                step(Given(3), rate=rate)
            ''')[-1], 'jax.compile update: rate 2 after 1')

    def test_a_kind_that_is_compiled_in_is_no_array(self):
        self.assertEqual(self.spans('''
            from numpy_like import Kind
            step = compiled(lambda x, kind: None)
            for n in (3, 4):
                step(Given(n), Kind())
            ''')[-1], 'jax.compile update: x f4[4] after f4[3]')

    def test_inside_of_another_it_is_none(self):
        self.assertEqual(self.spans('''
            jax.jit(lambda: compiled(by_hand)(Given(3)))()
            '''), [])


@unittest.skipUnless(REAL, 'STALLPROF_JAX names no interpreter')
class RealJax(unittest.TestCase):
    HEAD = '''
import jax, numpy
def loss(w, x, y): return ((x @ w[0] - y) ** 2).mean()
def by_hand(w, x, y): return [a - 0.1 * g for a, g in zip(w, jax.grad(loss)(w, x, y))]
weights = [jax.numpy.ones((4, 1))]
def batch(): return numpy.ones((8, 4), 'f4'), numpy.ones((8, 1), 'f4')
'''

    def count(self, text):
        return steps(text, self.HEAD, REAL, ())

    def test_steps_by_hand_and_their_rounds(self):
        loop = '''
            step = jax.jit(by_hand)
            for _ in range(50):
                x, y = batch()
                for _ in range(%d):
                    weights = step(weights, x, y)
            '''
        self.assertEqual((self.count(loop % 1), self.count(loop % 5)), ([50], [50]))

    def test_where_a_step_is_called_from_is_known(self):
        loop = '''
            step = jax.jit(by_hand)
            weights = step(weights, *batch())
            for _ in range(50):
                weights = step(weights, *batch())
            '''
        run = Run([REAL, '-c', self.HEAD + textwrap.dedent(loop)])
        self.assertEqual((run.status, run.err), (0, ''))
        first = self.HEAD.count('\n') + 2   # `step = ...`
        # Before Python 3.12 calls are not seen, but where it is compiled is.
        lines = [place.line for place in run.place if place.function == '<module>']
        self.assertEqual(lines[-1], first + 3 if run.optimizer else first + 1)

    def test_a_compiled_function_stays_what_it_is(self):
        probe = self.HEAD + textwrap.dedent('''
            import inspect
            step = jax.jit(by_hand)
            step(weights, *batch())
            print(type(step), isinstance(step, jax.stages.Wrapped), inspect.signature(step),
                  step.lower(weights, *batch()).compile()(weights, *batch()), step.__wrapped__ is by_hand)
            try:
                step(weights)
            except TypeError as error:
                print(error)
            ''')
        plain = subprocess.run([REAL, '-c', probe], stdout=subprocess.PIPE)
        self.assertEqual(Run([REAL, '-c', probe]).out, plain.stdout.decode())


if __name__ == '__main__':
    unittest.main()
