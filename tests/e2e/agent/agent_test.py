# SPDX-License-Identifier: MIT
"""The agent in programs that use a GPU, with fakes of the driver and of CUPTI in place of one.

STALLPROF_BUILD names the build tree. agent_drain plays the recorder, gpu_job the training."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ['STALLPROF_BUILD']
FAKES = os.path.join(BUILD, 'fakes')
AGENT = os.path.join(BUILD, 'lib/stallprof/libstallprof_agent.so')
JOB = os.path.join(FAKES, 'agent_gpu_job')
CUPTI = {'11.8': 'libcupti.so.11.8', '12.4': 'libcupti.so.12', '12.8': 'libcupti.so.12',
         '12.9': 'libcupti.so.12', '13.0': 'libcupti.so.13'}
TRACING, YIELDED, REFUSED, HUNG, ENDED = 1, 2, 3, 4, 5
KERNEL, RUNTIME, COPY, SYNC, DEVICE, GRAPH = '10', '5', '1', '38', '8', '51'
ALL = '15'  # STALLPROF_AGENT_ON: everything, never in windows


def cupti(version):
    return os.path.join(FAKES, 'cupti-' + version, CUPTI[version])


class Run:
    """One job under agent_drain: what it printed, how it ended, what the agent said."""

    def __init__(self, *words, version='13.0', script='', slow=None, close_after=None, on=ALL, env=None, within=()):
        variables = dict(os.environ, FAKE_CUPTI=script, STALLPROF_AGENT_ON=on, **(env or {}))
        with tempfile.TemporaryDirectory() as folder:
            first = ['cupti=' + cupti(version)] if version else []
            done = subprocess.run(
                [os.path.join(FAKES, 'agent_drain'), '--out', folder, '--agent', AGENT]
                + ([slow] if slow else []) + (['--close-after', str(close_after)] if close_after else [])
                + ['--', *within, JOB] + first + list(words),
                env=variables, capture_output=True, text=True, timeout=60)
            self.stdout, self.stderr = done.stdout, done.stderr
            with open(os.path.join(folder, 'summary.json')) as summary:
                whole = json.load(summary)
        self.status, self.areas = whole['status'], whole['areas']
        self.area = self.areas[0] if self.areas else None
        self.launched = int(re.search(r'launched=(\d+)', self.stdout).group(1))

    def count(self, kind):
        return self.area['kinds'].get(kind, 0)


class Counts(unittest.TestCase):
    def test_every_launch_is_counted_whatever_the_version(self):
        for version in CUPTI:
            with self.subTest(version=version):
                run = Run('names=50', 'threads=3', 'launches=60000', 'copies=10', 'syncs=5',
                          version=version)
                self.assertEqual((run.status, run.stderr), (0, ''))
                self.assertEqual(run.launched, 60000)
                self.assertEqual(run.count(KERNEL), 60000)
                self.assertEqual(run.count(RUNTIME), 60015)
                self.assertEqual((run.count(COPY), run.count(SYNC)), (10, 5))
                self.assertEqual(run.count(DEVICE), 1)
                self.assertEqual(run.area['kernel_ns'], 60000 * 5000)
                self.assertEqual(run.area['state'], ENDED)
                self.assertEqual(run.area['unread'], 0)
                self.assertEqual(len(run.area['names']), 50)
                self.assertTrue(all(name.startswith('_ZN2at6native') for name in run.area['names']))

    def test_a_graph_launch_is_one_record_whatever_is_switched_on_and_off(self):
        # The fake ends the job where kernels are recorded and graph launches are not.
        for version in CUPTI:
            with self.subTest(version=version):
                run = Run('graphs=100', 'release', 'retake', 'graphs=100', version=version)
                self.assertEqual((run.status, run.stderr), (0, ''))
                self.assertEqual((run.count(GRAPH), run.count(KERNEL)), (200, 0))

    def test_calls_of_no_interest_leave_no_record_where_cupti_can_choose(self):
        self.assertEqual(Run('queries=1000', version='13.0').count(RUNTIME), 0)
        self.assertEqual(Run('queries=1000', version='12.4').count(RUNTIME), 1000)

    def test_the_clock_is_paired_with_monotonic_time(self):
        run = Run('launches=10', 'sleep=1500')
        pairs = run.area['clock']
        self.assertGreaterEqual(len(pairs), 3)
        for monotonic, device, uncertainty in pairs:
            offset = time.time_ns() - time.monotonic_ns()
            self.assertLess(abs(device - monotonic - offset), 50_000_000)
            self.assertLess(uncertainty, 50_000_000)

    def test_a_million_records_a_second_and_as_many_as_can_be(self):
        for rate in ('rate=500000', 'rate=0'):  # launches: a kernel and a call each
            with self.subTest(rate=rate):
                run = Run('threads=2', rate, 'seconds=2')
                self.assertEqual((run.status, run.stderr), (0, ''))
                self.assertGreater(run.launched, 200_000)
                lost = run.area['dropped']  # kernels and calls together
                self.assertEqual(run.count(KERNEL) + run.count(RUNTIME) + lost, 2 * run.launched)
                self.assertEqual(run.area['unread'], 0)


class Deaths(unittest.TestCase):
    def test_sigkill_loses_nothing_that_cupti_had_written(self):
        torn = 0  # none where the agent's flush comes between the last launch and the end
        for version in CUPTI:
            with self.subTest(version=version):
                run = Run('threads=2', 'names=20', 'launches=30000', 'end=kill', version=version)
                self.assertEqual(run.status, -9)
                self.assertEqual(run.count(KERNEL), 30000)
                self.assertEqual(run.area['state'], TRACING)
                self.assertEqual(len([n for n in run.area['names'] if n.startswith('?')]), 0)
                torn += run.area['torn']
        self.assertGreaterEqual(torn, 1)

    def test_an_exit_without_handlers_loses_nothing_either(self):
        run = Run('launches=30000', 'end=_exit')
        self.assertEqual((run.status, run.count(KERNEL)), (0, 30000))

    def test_a_forked_worker_never_reaches_its_parents_buffers(self):
        for version in ('12.4', '13.0'):
            with self.subTest(version=version):
                run = Run('launches=5000', 'fork', 'launches=5000', version=version)
                self.assertEqual((run.status, run.stderr), (0, ''))
                self.assertEqual(run.area['names'], {'_Z6kernelv': 10000})
                self.assertEqual(len(run.areas), 1)

    def test_a_spawned_worker_is_a_process_of_its_own(self):
        run = Run('launches=5000', 'spawn=3000', 'launches=5000')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertEqual(sorted(area['kinds'].get(KERNEL, 0) for area in run.areas), [3000, 10000])


class Refusals(unittest.TestCase):
    def test_an_error_of_cupti_is_said_and_harms_nothing(self):
        for code, words in ((39, 'another tool'), (35, 'no permission'), (15, 'too old'),
                            (33, 'virtual'), (999, 'refused')):
            with self.subTest(code=code):
                run = Run('launches=1000', script='fail:Subscribe=%d' % code)
                self.assertEqual((run.status, run.stderr, run.launched), (0, '', 1000))
                self.assertEqual((run.area['state'], run.area['error']), (REFUSED, code))
                self.assertIn(words, run.area['why'])
                self.assertEqual(run.area['kinds'], {})

    def test_the_other_tool_is_named_where_cupti_names_it(self):
        run = Run('launches=1', script='fail:Subscribe=39 tool:Nsight')
        self.assertIn('Nsight', run.area['why'])

    def test_no_call_that_fails_harms_the_job(self):
        for name in ('GetVersion', 'ActivityRegisterCallbacks', 'ActivityEnable',
                     'ActivityDisable', 'ActivityFlushAll', 'ActivitySetAttribute',
                     'SetThreadIdType', 'EnableCallback', 'GetTimestamp', 'Unsubscribe',
                     'ActivityGetNumDroppedRecords', 'ActivityEnableRuntimeApi'):
            with self.subTest(name=name):
                run = Run('launches=1000', script='fail:%s=999' % name)
                self.assertEqual((run.status, run.stderr, run.launched), (0, '', 1000))

    def test_kernels_that_cupti_does_not_record_are_none_that_were_traced(self):
        area = Run('launches=1000', script='fail:ActivityEnable=14').area
        self.assertEqual(area['state'], ENDED)
        self.assertIn('does not record kernels', area['why'])
        self.assertFalse(any(on & 2 for _, on in area['switches']), area['switches'])

    def test_without_a_libcupti_it_says_so(self):
        run = Run('launches=1000', version=None,
                  env={'FAKE_CUDA_DRIVER': '11080', 'CUDA_HOME': '', 'CONDA_PREFIX': ''})
        self.assertEqual((run.status, run.area['state']), (0, REFUSED))
        self.assertIn('no libcupti', run.area['why'])

    def assert_found(self, version, driver, name, cupti_version):
        """`name` below the toolkit's directory, for a driver of that version."""
        with tempfile.TemporaryDirectory() as home:
            os.makedirs(os.path.dirname(home + name))
            os.symlink(cupti(version), home + name)
            run = Run('launches=100', version=None,
                      env={'FAKE_CUDA_DRIVER': driver, 'CUDA_HOME': home, 'CONDA_PREFIX': ''})
            self.assertEqual((run.area['cupti'], run.count(KERNEL)), (cupti_version, 100))

    def test_libcupti_is_found_beside_the_toolkit(self):
        self.assert_found('12.9', '12090', '/extras/CUPTI/lib64/libcupti.so.12', 27)

    def test_libcupti_is_found_where_packages_of_python_have_it(self):
        # The runtime says which: of CUDA 12 each library has a folder, of CUDA 13 all have one.
        for major, version, runtime, folder in ((12, '12.9', 'cuda_runtime/lib', 'cuda_cupti/lib'),
                                                (13, '13.0', 'cu13/lib', 'cu13/lib')):
            with self.subTest(major=major), tempfile.TemporaryDirectory() as home:
                packages = home + '/site-packages/nvidia/'
                os.makedirs(packages + runtime)
                os.makedirs(packages + folder, exist_ok=True)
                mapped = packages + runtime + '/libcudart.so.%d' % major
                shutil.copy(os.path.join(FAKES, 'cuda/libcuda.so.1'), mapped)  # any library
                os.symlink(cupti(version), packages + folder + '/' + CUPTI[version])
                run = Run('cupti=' + mapped, 'launches=100', version=None,
                          env={'CUDA_HOME': '', 'CONDA_PREFIX': ''})
                self.assertEqual((run.area['cupti'], run.count(KERNEL)),
                                 ({12: 27, 13: 130001}[major], 100))

    def test_the_libcupti_that_the_program_has_is_the_one(self):
        with tempfile.TemporaryDirectory() as home:
            os.makedirs(home + '/lib64')
            os.symlink(cupti('13.0'), home + '/lib64/libcupti.so.13')
            run = Run('launches=100', version='12.4', env={'CUDA_HOME': home})
            self.assertEqual((run.area['cupti'], run.count(KERNEL)), (22, 100))

    def test_cuda_11s_libcupti_is_found_though_its_name_has_a_minor_version(self):
        self.assert_found('11.8', '11080', '/lib64/libcupti.so.11.8', 18)

    def test_when_cupti_gives_up_so_does_the_agent(self):
        for on in (ALL, '7'):  # the fake ends a job that calls it afterwards
            with self.subTest(on=on):
                run = Run('launches=1000', 'sleep=2500', 'launches=1000', script='fatal@2', on=on)
                self.assertEqual((run.status, run.stderr), (0, ''))
                self.assertEqual(run.area['state'], REFUSED)
                self.assertIn('the script says so', run.area['why'])
                self.assertEqual(run.area['switches'][-1][1], 0)


class Troubles(unittest.TestCase):
    def test_a_recorder_that_stands_still_costs_records_and_nothing_else(self):
        for version in ('12.4', '13.0'):  # a crash for no buffer, and none
            with self.subTest(version=version):
                run = Run('threads=2', 'launches=200000', slow='--hold', version=version)
                self.assertEqual((run.status, run.stderr, run.launched), (0, '', 200000))
                self.assertGreater(run.area['starved'], 0)
                self.assertGreater(run.count(KERNEL), 30000)
                self.assertLess(run.count(KERNEL), 200000)

    def test_a_recorder_that_stands_still_for_long_is_yielded_to_until_it_goes_on(self):
        # Launches for all buffers at once, then such that a buffer is full twice a second.
        run = Run('launches=70000', 'rate=4000', 'seconds=18', slow='--stall')
        self.assertEqual((run.status, run.stderr), (0, ''))
        self.assertEqual((run.area['state'], run.area['why']), (ENDED, ''))
        self.assertEqual([on for _, on in run.area['switches']], [7, 0, 7, 0])
        self.assertLess(run.count(KERNEL), run.launched)

    def test_yielded_to_a_recorder_that_stands_still_it_lets_go_of_cupti_in_order(self):
        # A tool that comes finds nothing switched on and no buffer of ours; --hold never goes on.
        run = Run('launches=70000', 'rate=4000', 'seconds=15', 'release', 'tool', slow='--hold')
        self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', YIELDED))
        self.assertIn('released for another profiler', run.area['why'])
        self.assertIn('tool=0', run.stdout)
        self.assertEqual([on for _, on in run.area['switches']], [7, 0])

    def test_a_flush_that_hangs_is_given_up_and_the_job_ends_in_time(self):
        start = time.monotonic()
        run = Run('launches=1000', 'sleep=7500', 'launches=1000', script='hang:flush@2')
        self.assertEqual((run.status, run.area['state']), (0, HUNG))
        self.assertLess(time.monotonic() - start, 10)

    def test_the_end_of_the_job_waits_two_seconds_for_cupti_and_no_more(self):
        start = time.monotonic()
        run = Run('launches=1000', 'sleep=300', script='hang:flush@2')
        self.assertEqual((run.status, run.area['state']), (0, HUNG))
        self.assertLess(time.monotonic() - start, 4)

    def test_the_end_of_the_job_is_the_end_of_calls(self):
        # The fake ends a job that calls it after its own exit handlers, which come before these.
        for on in (ALL, '7'):
            with self.subTest(on=on):
                run = Run('linger=2500', 'launches=1000', on=on)
                self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', ENDED))
                self.assertEqual(run.area['switches'][-1][1], 0)

    def test_a_job_that_stands_still_is_no_call_that_hangs(self):
        run = Run('resume=6000', 'launches=1000', 'sleep=1000', 'launches=1000', script='stop:flush@2')
        self.assertEqual((run.status, run.area['state']), (0, ENDED), run.area['why'])
        self.assertEqual(run.count(KERNEL), 2000)

    def test_where_no_thread_can_be_started_it_says_so_and_lets_go(self):
        run = Run('threadless', 'launches=1000', 'release', 'tool')
        self.assertEqual((run.status, run.area['state']), (0, YIELDED), run.area['why'])
        self.assertIn('release=1', run.stdout)
        self.assertIn('tool=0', run.stdout)
        run = Run('threadless', 'launches=1000')
        self.assertEqual((run.status, run.area['state']), (0, REFUSED), run.area['why'])
        self.assertIn('no thread', run.area['why'])

    def test_buffers_that_come_back_late_were_not_stolen(self):
        # Each holds work that is not finished, as where the device never runs dry.
        slow = ['copies=20', 'sleep=1000'] * 8
        run = Run(*slow, 'launches=5000', 'sleep=1500', 'launches=100', script='busy@2')
        self.assertEqual((run.status, run.area['state'], run.area['why']), (0, ENDED, ''))
        self.assertEqual([on for _, on in run.area['switches']], [7, 0, 7, 0])
        self.assertEqual((run.count(KERNEL), run.count(COPY)), (5100, 160))

    def test_buffers_taken_by_another_client_are_noticed_and_left_to_it(self):
        run = Run(*(['copies=20', 'sleep=1000'] * 9), 'release', 'tool', script='steal@2')
        self.assertEqual((run.status, run.area['state']), (0, YIELDED))
        self.assertIn('buffers', run.area['why'])
        self.assertIn('tool=0', run.stdout)  # the next one may want to subscribe
        self.assertEqual(run.area['switches'][-1][1], 0)

    def test_a_clock_that_counts_ticks_is_as_good(self):
        run = Run(*(['copies=20', 'sleep=1000'] * 5), script='clock:ticks@2')
        self.assertEqual((run.status, run.area['state'], run.area['why']), (0, ENDED, ''))
        self.assertEqual(run.count(COPY), 100)

    def test_what_is_stuck_with_cupti_is_taken_by_force_before_buffers_run_out(self):
        # None comes back by itself, as behind a record that is never finished. The sleep has several ticks, of which
        # one is enough, in which the buffers have been held for long.
        run = Run('sleep=500', 'threads=2', 'launches=40000', 'sleep=5500', script='stuck@2')
        self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', ENDED))
        self.assertEqual((run.count(KERNEL), run.area['dropped']), (40000, 0))
        self.assertIn(0, [on for _, on in run.area['switches'][:-1]])  # then nothing counts as traced

    def test_kernels_without_times_end_the_recording_of_kernels_alone(self):
        run = Run(*(['launches=100', 'copies=5', 'sleep=1000'] * 8), script='invalid@2')
        self.assertEqual((run.status, run.stderr, run.area['state']), (0, '', ENDED))
        self.assertIn('times that cannot be', run.area['why'])
        self.assertEqual([on for _, on in run.area['switches']], [7, 5, 0])
        self.assertLess(run.count(KERNEL), 800)
        self.assertEqual((run.count(RUNTIME), run.count(COPY)), (840, 40))

    def test_a_step_of_the_clock_is_in_the_pairs_and_ends_nothing(self):
        run = Run('copies=20', 'sleep=2500', 'copies=20', script='clock:ahead@2')
        self.assertEqual(run.area['state'], ENDED)
        self.assertEqual(run.count(COPY), 40)


if __name__ == '__main__':
    unittest.main()
