# SPDX-License-Identifier: MIT
"""The hook and the agent in a program that is traced: it lets go of CUPTI for torch.profiler, and begins and ends its
windows at the updates of models. A real PyTorch (its CPU build does), with the fakes of the driver and of CUPTI."""
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

BUILD = os.environ['STALLPROF_BUILD']
FAKES = os.path.join(BUILD, 'fakes')
AGENT = os.path.join(BUILD, 'lib/stallprof/libstallprof_agent.so')
HOOK = os.path.join(BUILD, 'lib/stallprof/hook')
PYTHON = os.environ.get('STALLPROF_TORCH_PYTHON', '/usr/bin/python3')
os.environ.setdefault('STALLPROF_HOOK', HOOK)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../hook'))
sys.path.append(HOOK)
from harness import EventMemory  # noqa: E402
from stallprof_hook import agent  # noqa: E402

PROGRAM = '''
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1] + '/cuda/libcuda.so.1', mode=ctypes.RTLD_GLOBAL)
cupti = ctypes.CDLL(sys.argv[1] + '/cupti-13.0/libcupti.so.13')
def launch(count):
    for _ in range(count):
        cuda.fakeLaunch(b'_Z6kernelv', ctypes.c_uint64(5000))
def start():
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
if sys.argv[2] == 'cuda first':
    start()
    launch(100)
import torch
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU]) as p:
    if sys.argv[2] == 'profiler first':
        start()
    launch(10)
    torch.ones(3) + 1
launch(1000)
print(len(p.events()) > 0)
'''

# A PyTorch without CUDA says that it has started it; the capture of a graph fails, once the hook has heard of it.
STEPS = PROGRAM[:PROGRAM.index('if sys.argv[2]')] + '''
import time, torch
start()
torch.cuda.is_initialized, torch.cuda.is_current_stream_capturing = lambda: True, lambda: sys.argv[2] == 'capturing'
if sys.argv[2] == 'graph':
    try:
        torch.cuda.graphs.CUDAGraph.capture_begin(object())
    except TypeError:
        pass
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
end = time.monotonic() + 4
while time.monotonic() < end:
    launch(200)
    model(torch.ones(4)).sum().backward()
    optimizer.step()
print(True)
'''


def has_torch():
    return subprocess.run([PYTHON, '-c', 'import torch.profiler'], capture_output=True).returncode == 0


@unittest.skipUnless(has_torch(), 'no torch for ' + PYTHON)
class TorchProfiler(unittest.TestCase):
    def run_program(self, order, script='', program=PROGRAM, on='15'):
        memory = EventMemory()
        # 15: everything, never in windows, which a loaded host has time for.
        env = dict(os.environ, PYTHONPATH=HOOK, STALLPROF_EVENTS=memory.path, FAKE_CUPTI=script,
                   STALLPROF_AGENT_ON=on)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [FAKES + '/agent_drain', '--out', folder, '--agent', AGENT, '--',
                 PYTHON, '-c', program, FAKES, order],
                env=env, capture_output=True, text=True, timeout=120)
            with open(folder + '/summary.json') as summary:
                area = json.load(summary)['areas'][0]
        self.assertEqual((done.returncode, done.stdout), (0, 'True\n'), done.stderr)
        return area

    def test_the_agent_is_away_while_the_profiler_runs(self):
        area = self.run_program('cuda first')
        self.assertEqual(area['kinds'].get('10'), 1100)
        self.assertEqual([on for _, on in area['switches']], [7, 0, 7, 0])
        self.assertEqual(area['state'], 5)

    def test_a_profiler_that_was_there_first_keeps_cupti_until_it_stops(self):
        area = self.run_program('profiler first', 'fail:Subscribe=39@1')
        self.assertEqual(area['kinds'].get('10'), 1000)
        self.assertEqual([on for _, on in area['switches']], [7, 0])

    def test_a_window_ends_at_the_update_of_a_model_and_never_within_a_capture(self):
        self.assertEqual([on for _, on in self.run_program('', program=STEPS, on='7')['switches']][:2], [7, 0])
        within = self.run_program('capturing', program=STEPS, on='7')['switches']
        self.assertEqual((len(within), within[1][0] - within[0][0] > 3e9), (2, True))

    def test_with_graphs_captured_no_window_ends(self):
        switches = self.run_program('graph', program=STEPS, on='7')['switches']
        self.assertEqual((len(switches), switches[1][0] - switches[0][0] > 3e9), (2, True))


class Turns(unittest.TestCase):
    """Where the hook lets the agent synchronize the device; torch is none."""

    def may(self, group=None, capturing=False, devices=1, used=1):
        torch = types.SimpleNamespace(
            cuda=types.SimpleNamespace(is_current_stream_capturing=lambda: capturing, device_count=lambda: devices),
            _C=types.SimpleNamespace(_cuda_hasPrimaryContext=lambda device: device < used))
        distributed = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: group is not None,
                                            get_world_size=lambda: group)
        with mock.patch.dict(sys.modules, {'torch.distributed': distributed}):
            return agent._may_synchronize(torch)

    def test_one_device_of_one_process_without_a_process_group(self):
        self.assertTrue(self.may())
        self.assertTrue(self.may(devices=4))
        self.assertFalse(self.may(devices=4, used=2))
        self.assertFalse(self.may(capturing=True))

    def test_never_with_a_process_group_even_of_one_rank(self):
        for ranks in (1, 2):
            self.assertFalse(self.may(group=ranks), ranks)


if __name__ == '__main__':
    unittest.main()
