# SPDX-License-Identifier: MIT
"""When the agent lets go of CUPTI and takes it back: for other tools of the program, and between windows that begin and
end at its steps. As agent_test.py, with the fakes."""
import os
import shutil
import subprocess
import unittest

from agent_test import ENDED, KERNEL, YIELDED, Run


class Turns(unittest.TestCase):
    def test_cupti_is_released_and_taken_back(self):
        run = Run('launches=1000', 'release', 'launches=500', 'retake', 'launches=1000')
        self.assertIn('release=1', run.stdout)
        self.assertIn('retake=1', run.stdout)
        self.assertEqual((run.count(KERNEL), run.area['state']), (2000, ENDED))
        self.assertEqual([on for _, on in run.area['switches']], [7, 0, 7, 0])

    def test_another_tool_gets_cupti_while_it_is_released_and_not_before(self):
        for words in (['tool', 'release', 'tool', 'tool-ends', 'retake'],
                      ['tool', 'release', 'tool', 'tool-ends', 'retake', 'late']):  # the context
            with self.subTest(words=words):
                run = Run(*words, 'launches=100')
                self.assertEqual(run.stdout.split()[:5], [
                    'tool=39', 'stallprof_agent_release=1', 'tool=0', 'tool-ends=0',
                    'stallprof_agent_retake=1'])
                self.assertEqual((run.count(KERNEL), run.area['state']), (100, ENDED))

    def test_a_tool_that_stays_subscribed_leaves_us_the_records(self):
        # As torch's profiler does, from its first start on.
        run = Run('launches=100', 'release', 'tool', 'retake', 'launches=100', 'release', 'retake', 'launches=100')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertIn('tool=0', run.stdout)
        self.assertEqual((run.count(KERNEL), run.area['state'], run.area['why']), (300, ENDED, ''))

    def test_beside_a_tool_that_stays_subscribed_no_turn_is_asked_for(self):
        # CUPTI cannot leave then: each would synchronize the device for nothing.
        run = Run('release', 'tool', 'retake', 'steps=3.5', on='7')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertIn('turns=0\n', run.stdout)
        self.assertEqual([on for _, on in run.area['switches']], [7, 0, 7, 0])
        self.assertEqual(run.count(KERNEL), run.launched)
        ended = Run('release', 'tool', 'retake', 'sleep=2000', 'steps=2', on='7', close_after=500)
        self.assertEqual((ended.status, ended.stderr, ended.area['state']), (0, '', ENDED))
        self.assertIn('turns=0\n', ended.stdout)

    def test_a_tool_that_was_there_first_and_stays_leaves_us_the_records_once_it_has_stopped(self):
        run = Run('tool', 'release', 'launches=50', 'retake', 'launches=100', script='fail:Subscribe=39@1')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertIn('tool=0', run.stdout)
        self.assertEqual((run.count(KERNEL), run.area['state'], run.area['why']), (100, ENDED, ''))

    def test_released_no_buffer_is_left_for_the_next_tool(self):
        run = Run('launches=1000', 'release', 'sleep=300', script='stuck@1')
        self.assertEqual((run.count(KERNEL), run.area['torn']), (1000, 0))

    def test_released_and_not_taken_back_it_says_so(self):
        run = Run('launches=1000', 'release', 'launches=500')
        self.assertEqual((run.count(KERNEL), run.area['state']), (1000, YIELDED))

    def test_many_launches_are_seen_in_windows_that_begin_and_end_at_steps(self):
        # From 12.6 on CUPTI leaves the process between them; the fake ends one that does so otherwise.
        for version in ('12.8', '13.0'):
            with self.subTest(version=version):
                run = Run('threads=2', 'launches=2000', 'steps=7.5', on='7', version=version)  # threads that have ended
                self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', ENDED))
                on = [on for _, on in run.area['switches']]
                self.assertGreaterEqual(len(on), 4)
                self.assertEqual(on, ([7, 0] * len(on))[:len(on)])
                share = run.count(KERNEL) / run.launched
                self.assertGreater(share, 0.05)
                self.assertLess(share, 0.6)

    def test_where_cupti_cannot_leave_all_is_recorded(self):
        run = Run('steps=3', on='7', version='12.4')
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])
        self.assertEqual(run.count(KERNEL), run.launched)

    def test_a_program_with_graphs_does_not_get_cupti_back_from_another_tool(self):
        run = Run('steps=0.1', 'release', 'keep', 'retake', 'launches=100', on='7')
        self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', YIELDED))
        self.assertIn('stallprof_agent_retake=0', run.stdout)
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])

    def test_where_nothing_reports_steps_all_is_recorded_whatever_it_costs(self):
        run = Run('threads=2', 'rate=25000', 'seconds=3', on='7')
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])
        self.assertEqual(run.count(KERNEL), run.launched)

    def test_where_another_thread_uses_cuda_nothing_is_switched(self):
        run = Run('beside', 'steps=3', on='7')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])
        self.assertEqual(run.count(KERNEL), run.launched)

    def test_once_a_graph_is_captured_nothing_is_switched(self):
        run = Run('steps=0.1', 'keep', 'steps=3', on='7')
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])
        self.assertEqual((run.count(KERNEL), run.area['state']), (run.launched, ENDED))
        away = Run('steps=2.5', 'keep', 'steps=4', on='7')
        self.assertIn('stallprof_agent_keep=0', away.stdout)
        self.assertEqual([on for _, on in away.area['switches']], [7, 0])
        self.assertEqual(away.area['state'], YIELDED)
        self.assertIn('captured CUDA graphs', away.area['why'])

    def test_after_the_recorder_has_ended_cupti_leaves_at_the_next_step_for_good(self):
        # The fake ends a job in which it leaves at any other time.
        for first, close_after in (('steps=0.5', 1000), ('steps=2.5', 3000)):  # in a window, and between two
            with self.subTest(first=first):
                run = Run(first, 'sleep=2000', 'steps=5', 'tool', on='7', close_after=close_after)
                self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', ENDED))
                self.assertIn('the recorder has ended', run.area['why'])
                self.assertEqual([on for _, on in run.area['switches']], [7, 0])  # off, and never on again
                self.assertIn('tool=0', run.stdout)

    def test_after_the_recorder_has_ended_a_program_without_steps_keeps_cupti(self):
        run = Run('launches=1000', 'sleep=2500', 'launches=1000', 'tool', on='7', close_after=500)
        self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', ENDED))
        self.assertIn('the recorder has ended', run.area['why'])
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])
        self.assertIn('tool=39', run.stdout)

    def test_a_tool_that_comes_between_two_windows_keeps_cupti_until_it_ends(self):
        run = Run('steps=2.5', 'tool', 'steps=3.5', 'tool-ends', 'steps=3', on='7')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertIn('tool=0', run.stdout)
        self.assertEqual([on for _, on in run.area['switches']][:3], [7, 0, 7])
        held = Run('steps=2.5', 'tool', 'steps=4', on='7')
        self.assertEqual((held.status, held.stderr, held.area['state']), (0, '', YIELDED))
        self.assertIn('another tool has CUPTI', held.area['why'])

    def test_between_two_windows_cupti_is_released_and_taken_back(self):
        run = Run('steps=2.5', 'release', 'tool', 'tool-ends', 'retake', 'launches=100', on='7')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertEqual([on for _, on in run.area['switches']], [7, 0, 7, 0])
        self.assertIn('tool=0', run.stdout)


class InWindowsAlone(unittest.TestCase):
    """As run --gpu=windows: nothing is recorded until the training is warm, and then as in Turns."""

    def run_job(self, *words, **options):
        run = Run(*words, slow='--in-windows', on='7', **options)
        self.assertEqual((run.status, run.stderr), (0, ''))
        return run, [on for _, on in run.area['switches']]

    def test_the_first_window_begins_at_a_step_once_the_training_is_warm(self):
        run, on = self.run_job('launches=1000', 'copies=20', 'steps=13')
        self.assertEqual(on[:3], [0, 7, 0])
        self.assertGreater(run.area['switches'][1][0] - run.area['switches'][0][0], 5e9)
        self.assertEqual((run.area['state'], run.area['why']), (ENDED, ''))
        self.assertGreater(run.count(KERNEL), 1000)
        self.assertLess(run.count(KERNEL) / run.launched, 0.5)

    def test_where_nothing_reports_steps_nothing_is_recorded_and_it_says_why(self):
        run, on = self.run_job('threads=2', 'rate=25000', 'seconds=3')
        self.assertEqual((on, run.count(KERNEL), run.area['state']), ([0], 0, ENDED))
        self.assertIn('no window: one begins', run.area['why'])

    def test_where_another_thread_uses_cuda_there_is_no_window(self):
        for word in ('beside', 'beside-driver'):
            with self.subTest(word=word):
                run, on = self.run_job(word, 'steps=11')
                self.assertEqual((on, run.count(KERNEL)), ([0], 0))

    def test_where_tracing_is_cheap_the_first_window_lasts_until_it_costs_more(self):
        run, on = self.run_job('few', 'steps=11')
        self.assertEqual(on, [0, 7, 0])
        self.assertGreater(run.area['switches'][2][0] - run.area['switches'][1][0], 1.5e9)
        self.assertEqual(run.area['why'], '')

    def test_a_window_that_cannot_end_is_no_secret(self):
        graph, on = self.run_job('few', 'steps=10', 'keep', 'keep', 'launches=100')
        self.assertEqual(on, [0, 7, 0])
        self.assertIn('could not end', graph.area['why'])
        # Many launches from here on, on the thread that trains: it is to end.
        busy, on = self.run_job('few', 'steps=10', 'beside', 'many', 'steps=4')
        self.assertEqual(on, [0, 7, 0])
        self.assertIn('could not end', busy.area['why'])

    def test_calls_are_called_back_for_two_seconds_and_no_more(self):
        # FAKE_CUPTI=count: how many callbacks of launches there were.
        for words in (['beside-driver', 'steps=11'], ['steps=6.5', 'keep', 'sleep=1500']):
            with self.subTest(words=words):
                run, on = self.run_job(*words, 'hears', 'launches=1000', 'hears')
                before, after = (int(line.split('=')[1]) for line in run.stdout.splitlines() if line.startswith('hears='))
                self.assertEqual((on, after - before), ([0], 0))

    def test_after_a_window_torchs_profiler_keeps_cupti(self):
        run, on = self.run_job('few', 'steps=10', 'release', 'tool', 'retake', 'steps=3')
        self.assertIn('tool=0', run.stdout)
        self.assertIn('stallprof_agent_retake=0', run.stdout)
        self.assertEqual((on, run.area['state']), ([0, 7, 0], YIELDED))

    def test_a_graph_does_not_hide_why_cupti_was_refused(self):
        run, on = self.run_job('keep', 'launches=100', script='fail:Subscribe=39@1')
        self.assertEqual(on, [0])
        self.assertIn('another tool has CUPTI', run.area['why'])

    def test_once_a_graph_is_captured_there_is_no_window(self):
        run, on = self.run_job('steps=1', 'keep', 'keep', 'steps=6')
        self.assertEqual((on, run.count(KERNEL), run.area['state']), ([0], 0, YIELDED))
        self.assertIn('captured CUDA graphs', run.area['why'])

    def test_released_to_another_tool_cupti_does_not_come_back(self):
        run, on = self.run_job('steps=0.1', 'release', 'tool', 'tool-ends', 'retake', 'steps=6')
        self.assertIn('tool=0', run.stdout)
        self.assertIn('stallprof_agent_retake=0', run.stdout)
        self.assertEqual((on, run.count(KERNEL), run.area['state']), ([0], 0, YIELDED))

    def test_a_cupti_that_cannot_leave_is_left_alone(self):
        run, on = self.run_job('launches=100', 'tool', version='12.4')
        self.assertIn('tool=0', run.stdout)
        self.assertEqual((on, run.count(KERNEL)), ([], 0))
        self.assertIn('before 12.6', run.area['why'])

    def test_where_the_recorder_ends_first_nothing_leaves(self):
        run, on = self.run_job('steps=0.1', 'sleep=2000', 'steps=6', 'tool', close_after=500)
        self.assertEqual((on, run.area['state']), ([0], ENDED))
        self.assertIn('tool=39', run.stdout)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which('unshare'), 'needs root to unshare')
class PidNamespaces(unittest.TestCase):
    """A job in a pid namespace below that of its /proc, where it has other numbers than CUPTI knows."""
    WITHIN = ['unshare', '-p', '-f']

    def setUp(self):
        if subprocess.run(self.WITHIN + ['true'], capture_output=True).returncode:
            self.skipTest('needs root to unshare')

    def test_the_area_is_of_the_process_that_the_recorder_knows(self):
        run = Run('launches=1000', within=self.WITHIN)
        self.assertEqual((run.status, run.stderr, run.count(KERNEL)), (0, '', 1000))
        self.assertGreater(run.area['owner'], 1)  # which it is in its own

    def test_the_thread_that_trains_knows_itself_and_windows_end(self):
        run = Run('steps=3', on='7', within=self.WITHIN)
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertEqual([on for _, on in run.area['switches']][:2], [7, 0])
        self.assertLess(run.count(KERNEL), run.launched)

    def test_a_thread_that_proc_has_under_another_number_has_not_ended(self):
        run = Run('beside', 'steps=3', on='7', within=self.WITHIN)
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])
        self.assertEqual(run.count(KERNEL), run.launched)


if __name__ == '__main__':
    unittest.main()
