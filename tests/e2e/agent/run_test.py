# SPDX-License-Identifier: MIT
"""The agent under `stallprof run`: what a GPU and NVTX did is in the recording, and a tool that the
user has set in its place stays."""
import collections
import json
import os
import re
import subprocess
import tempfile
import unittest

BUILD = os.environ['STALLPROF_BUILD']
FAKES = os.path.join(BUILD, 'fakes')
ALL = '15'  # STALLPROF_AGENT_ON: everything, never in windows
JOB = [FAKES + '/agent_gpu_job', 'cupti=' + FAKES + '/cupti-13.0/libcupti.so.13']
# More launches than their records' budget, for long enough to see windows.
BUSY = JOB + ['steps=5']
NVML = BUILD + '/tests/fakes/nvml/now/libnvidia-ml.so.1'
ONE_GPU = 'device GPU-a NVIDIA H100 80GB HBM3\nvalue gpu 75\nvalue memory 40\n'
NVTX_TRAINER = FAKES + '/agent_nvtx_trainer'
NVTX_JOB = FAKES + '/agent_nvtx_job'


def recorded(command, name=None, **env):
    """(status, stdout, events): the events as stallprof-dump's lines, by kind."""
    with tempfile.TemporaryDirectory() as folder:
        name = name or folder + '/run.stallprof'
        done = subprocess.run(
            [BUILD + '/bin/stallprof', 'run', '-o', name, '--gpu', '--report', 'none', '--'] + command,
            env=dict(os.environ, **env), capture_output=True, text=True, timeout=60)
        dump = subprocess.run([BUILD + '/bin/stallprof-dump', name], capture_output=True, text=True,
                              timeout=60, check=True).stdout
    events = collections.defaultdict(list)
    for line in dump.splitlines():
        words = line.split(' ')
        if words[0].isdigit():
            events[words[1]].append(line)
    return done.returncode, done.stdout, events


def losses_of(events):
    """What the recording says was lost of a device's records, by its words."""
    lost = collections.Counter()
    for line in events['loss']:
        if ' kind=device_' in line:
            lost[re.search(r' kind=(\w+)', line).group(1)] += total([line], 'count')
    return lost


def reported(command, *options, **env):
    """The report of such a run, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        name = folder + '/run.stallprof'
        subprocess.run([BUILD + '/bin/stallprof', 'run', '-o', name, *options, '--report', 'none', '--']
                       + command, env=dict(os.environ, **env), stdout=subprocess.DEVNULL, check=True,
                       timeout=60)
        return json.loads(subprocess.run(
            [BUILD + '/bin/stallprof', 'report', '--format', 'json', name], check=True,
            stdout=subprocess.PIPE, universal_newlines=True, timeout=60).stdout)


def total(lines, field):
    return sum(int(re.search(r' %s=(\d+)' % field, line).group(1)) for line in lines)


class UnderStallprof(unittest.TestCase):
    def test_every_kernel_is_in_the_recording(self):
        status, _, events = recorded(JOB + ['names=5', 'rate=4000', 'launches=6000', 'copies=10'],
                                     STALLPROF_AGENT_ON=ALL)
        self.assertEqual(status, 0)
        kernels = [line for line in events['device_use'] if 'vectorized_elementwise' in line]
        self.assertEqual(total(kernels, 'count'), 6000)
        # On our clock, which beside the device's may run faster by some millionths (NTP).
        self.assertLess(abs(total(kernels, 'time') - 6000 * 5000), 6000)
        self.assertEqual(total([line for line in events['device_calls'] if 'Launch' in line],
                               'count'), 6000)
        self.assertTrue(any('source="gpu" state=full' in line for line in events['source']))
        self.assertTrue(any(' name="NVIDIA Fake 9000"' in line for line in events['device']), events['device'])

    def test_a_clock_that_counts_ticks_of_the_cpu_loses_no_kernel(self):
        # Three a nanosecond, as torch's profiler leaves it; known from the third pair of clocks on.
        status, _, events = recorded(JOB + ['sleep=300', 'release', 'retake', 'rate=2000', 'launches=6000'],
                                     STALLPROF_AGENT_ON=ALL, FAKE_CUPTI='clock:ticks@0')
        self.assertEqual(status, 0)
        kernels = [line for line in events['device_use'] if '_Z6kernelv' in line]
        self.assertEqual(total(kernels, 'count'), 6000)
        self.assertLess(abs(total(kernels, 'time') / 6000 / 5000 - 1), 0.01)

    def test_of_a_million_records_a_second_what_is_not_kept_is_reported(self):
        # On two threads, a kernel and a call each launch; then as many as can be. A recorder that
        # does not keep up loses records, and hides none.
        for rate in ('rate=500000', 'rate=0'):
            with self.subTest(rate=rate), tempfile.TemporaryDirectory() as folder:
                name = folder + '/run.stallprof'
                status, out, events = recorded(JOB + ['threads=2', rate, 'seconds=2'], name=name,
                                               STALLPROF_AGENT_ON=ALL)
                self.assertEqual(status, 0)
                launched = int(re.search(r'launched=(\d+)', out).group(1))
                self.assertGreater(launched, 100_000)
                kept = total([line for line in events['device_use'] if '_Z6kernelv' in line], 'count')
                kept += total([line for line in events['device_calls'] if 'Launch' in line], 'count')
                lost = losses_of(events)
                self.assertEqual(kept + sum(lost.values()), 2 * launched, lost)
                report = json.loads(subprocess.run(
                    [BUILD + '/bin/stallprof', 'report', '--format', 'json', name], check=True,
                    stdout=subprocess.PIPE, universal_newlines=True, timeout=60).stdout)
                losses = {loss['name']: loss['count'] for loss in report['coverage']['losses']}
                self.assertEqual({kind: losses[kind] for kind in lost}, lost)

    def test_what_cupti_had_written_survives_sigkill(self):
        status, _, events = recorded(JOB + ['rate=4000', 'launches=2000', 'end=kill'],
                                     STALLPROF_AGENT_ON=ALL)
        self.assertEqual(status, -9)
        kernels = [line for line in events['device_use'] if '_Z6kernelv' in line]
        self.assertEqual(total(kernels, 'count'), 2000)

    def test_the_users_own_tool_stays_in_its_place(self):
        for name in ('CUDA_INJECTION64_PATH', 'NVTX_INJECTION64_PATH'):
            with self.subTest(name=name):
                status, out, events = recorded(['sh', '-c', 'echo $' + name],
                                               **{name: '/opt/nsys/libToolsInjection64.so'})
                self.assertEqual((status, out), (0, '/opt/nsys/libToolsInjection64.so\n'))
                self.assertEqual(events['device_use'], [])
                self.assertTrue(any(name + " is another tool's ('/opt/nsys/" in line
                                    for line in events['source']), events['source'])

    def test_the_report_says_how_much_of_the_gpu_was_seen_and_why_no_more(self):
        work = JOB + ['rate=4000', 'launches=6000']
        refused = dict(FAKE_CUPTI='fail:Subscribe=39 tool:Nsight')
        with tempfile.NamedTemporaryFile('w') as script:
            script.write(ONE_GPU)
            script.flush()
            nvml = dict(STALLPROF_NVML_LIBRARY=NVML, STALLPROF_FAKE_NVML=script.name)
            # Five seconds, of which an exit that a busy host delays is no part that counts.
            ladder = [('full', JOB + ['rate=4000', 'launches=20000'], dict(STALLPROF_AGENT_ON=ALL)),
                      ('windowed', BUSY, {}),
                      ('nvml', work, dict(refused, **nvml)), ('none', work, refused)]
            for tier, command, env in ladder:
                with self.subTest(tier=tier):
                    coverage = reported(command, '--gpu', **env)['coverage']
                    self.assertEqual(coverage['tier']['gpu'], tier)
                    source = next(s for s in coverage['sources'] if s['name'] == 'gpu')
                    if 'FAKE_CUPTI' in env:
                        self.assertEqual(source['state'], 'absent')
                        self.assertIn('another tool has CUPTI in this process (Nsight)', source['why'])
            if os.path.exists(NVTX_TRAINER):
                # Past the first second, in which NVML may not be asked yet.
                report = reported([NVTX_TRAINER, '250'], '--nvtx', **nvml)
                self.assertEqual(report['coverage']['tier']['gpu'], 'nvtx')

    def test_of_a_program_that_can_have_no_windows_it_says_so_where_nothing_else_was_asked_for(self):
        coverage = reported(JOB + ['launches=1000', 'sleep=1500'], '--gpu=windows')['coverage']
        source = next(s for s in coverage['sources'] if s['name'] == 'gpu')
        self.assertEqual(source['state'], 'partial')
        self.assertIn('no window: one begins at an update of a PyTorch model', source['why'])
        only = reported(JOB + ['no-context', 'sleep=1500'], '--gpu=windows')['coverage']   # asks what there is, and no more
        source = next((s for s in only['sources'] if s['name'] == 'gpu'), {'why': ''})
        self.assertNotIn('no window', source['why'] or '')
        refused = subprocess.run([BUILD + '/bin/stallprof', 'run', '--gpu=always', '--', 'true'], capture_output=True, text=True)
        self.assertEqual(refused.returncode, 125)
        self.assertIn("--gpu takes nothing, whole or windows, not 'always'", refused.stderr)

    def test_where_no_driver_is_a_run_that_asked_for_the_gpu_says_so(self):
        drivers = ('/dev/nvidiactl', '/proc/driver/nvidia/version', '/dev/dxg')
        there = any(os.path.exists(path) for path in drivers)
        for env, missed in ({}, not there), (dict(STALLPROF_NVML_LIBRARY=NVML), False):
            sources = reported(['sleep', '0.2'], '--gpu', **env)['coverage']['sources']
            why = [s['why'] for s in sources if s['name'] == 'gpu']
            self.assertEqual(why, ['no NVIDIA driver was here when the run began'] * missed)

    @unittest.skipUnless(os.path.exists(NVTX_JOB), 'built without the NVTX headers')
    def test_ranges_of_nvtx_are_in_the_recording(self):
        status, _, events = recorded([NVTX_JOB])
        self.assertEqual(status, 0)
        names = collections.Counter(re.search(r' name="([^"]*)"', line).group(1)
                                    for line in events['range'])
        self.assertEqual(names, {'step': 5, 'transform': 5, 'decode': 5, 'forward': 5, 'done': 1})
        self.assertEqual(len([line for line in events['range'] if 'domain="Loader"' in line]), 5)
        spans = [line for line in events['span'] if 'source=nvtx' in line]
        self.assertEqual(len([line for line in spans if 'phase=transform' in line]), 5)


if __name__ == '__main__':
    unittest.main()
