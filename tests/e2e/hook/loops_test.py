# SPDX-License-Identifier: MIT
"""Turns of the program's own loops, on CPython 3.12 and newer: exact, and nothing where they are short or
others trace the program."""
import unittest

from harness import Run
from pythons_test import Folder, plain, pythons

PROGRAM = '''
    import time
    import numpy

    def main():
        for i in range(40):
            time.sleep(0.004)
            total = sum(range(10))

    def short():
        for i in range(20000):
            total = i
            total += i

    main()
    short()
    try:
        for i in range(30):
            time.sleep(0.002)
            if i < 3:
                continue
            if i == 25:
                raise ValueError(i)
            i += 1
    except ValueError as error:
        print(error)
'''


class Loops(unittest.TestCase):
    def setUp(self):
        newest = [python for minor in ('3.12*', '3.13*', '3.14*') for python in pythons(minor)]
        if not newest:
            self.skipTest('no Python 3.12 or newer')
        self.newest = newest
        self.folder = Folder()
        self.addCleanup(self.folder.cleanup)
        self.folder.write('numpy/__init__.py', '')

    def each(self, text):
        """(path, the program's run) in each Python, which is as without the hook."""
        path, runs = self.folder.write('train.py', text), []
        for python in self.newest:
            run = Run([python, path], path_after=[self.folder.name])
            self.assertEqual((run.status, run.out, run.err), plain([python, path], [self.folder.name]), python)
            runs.append((path, run))
        return runs

    def test_turns_of_long_loops_are_exact_and_short_ones_left_alone(self):
        for path, run in self.each(PROGRAM):
            turns = {}
            for event in run.turns:
                self.assertEqual(event.file, path)
                turns.setdefault((event.line, event.last), []).append(event)
            self.assertEqual(sum(e.turns for e in turns.pop((6, 8))), 39)  # from the first turn's end
            self.assertEqual(sum(e.turns for e in turns.pop((18, 24))), 24)
            self.assertLess(sum(e.turns for rows in turns.values() for e in rows), 300)
            self.assertTrue(all(e.duration >= 1000000 for e in run.turns))

    def test_short_loops_of_other_threads_are_left_alone_too(self):
        for _, run in self.each('''
                import sys
                import threading
                import numpy
                asked = []
                monitoring = sys.monitoring
                for tool in range(6):
                    if monitoring.get_tool(tool) == 'stallprof':
                        turn = monitoring.register_callback(tool, monitoring.events.JUMP, None)
                        monitoring.register_callback(tool, monitoring.events.JUMP,
                                                     lambda *jump: asked.append(jump) or turn(*jump))
                        asked.append(tool)
                def short():
                    for i in range(20000):
                        total = i
                        total += i
                hooked = len(asked)
                thread = threading.Thread(target=short)
                thread.start()
                thread.join()
                assert len(asked) > 256 or not hooked
                print(len(asked) < 5000)
                '''):
            # A loaded host may make those of the first loop long.
            self.assertEqual([event for event in run.turns if event.line != 7], [])

    def test_a_loop_that_is_over_leaves_its_place_to_another(self):
        lines = ['import time', 'import numpy']
        for i in range(70):
            lines += ['for i in range(3):', '    i += 1', '    i += %d' % i]
        lines += ['time.sleep(2.1)', 'for i in range(20):', '    time.sleep(0.002)', '    i += 1', '']
        for _, run in self.each('\n'.join(lines)):
            last = len(lines)
            self.assertEqual(sum(e.turns for e in run.turns if e.line == last - 3), 19, run.turns)

    def test_no_code_of_the_program_runs_while_its_functions_are_found(self):
        self.folder.write('late.py', 'raise ImportError("not here")')
        for _, run in self.each('''
                import importlib.util, sys
                spec = importlib.util.find_spec('late')
                spec.loader = importlib.util.LazyLoader(spec.loader)
                late = importlib.util.module_from_spec(spec)
                sys.modules['late'] = late
                spec.loader.exec_module(late)
                import numpy
                print('numpy' in sys.modules)
                '''):
            self.assertEqual(run.out, 'True\n')

    def test_a_program_that_takes_all_tools_keeps_them(self):
        for _, run in self.each('''
                import sys
                for tool in range(6):
                    sys.monitoring.use_tool_id(tool, 'mine')
                import numpy
                for i in range(3):
                    import time
                    time.sleep(0.002)
                print([sys.monitoring.get_tool(tool) for tool in range(6)])
                '''):
            self.assertEqual(run.turns, [])

    def test_a_program_may_take_the_tools_without_a_name_after_numpy(self):
        for _, run in self.each('''
                import numpy, sys
                for tool in 3, 4:
                    sys.monitoring.use_tool_id(tool, 'mine')
                print([sys.monitoring.get_tool(tool) for tool in (3, 4)])
                '''):
            self.assertEqual(run.out, "['mine', 'mine']\n")

    def test_a_debugger_and_a_coverage_tool_see_what_they_see_without_the_hook(self):
        for _, run in self.each('''
                import sys
                import numpy
                seen = []
                def trace(frame, event, argument):
                    seen.append((event, frame.f_lineno))
                    return trace
                def turn():
                    for i in range(3):
                        pass
                sys.settrace(trace)
                turn()
                sys.settrace(None)
                events = sys.monitoring.events
                sys.monitoring.use_tool_id(1, 'coverage')
                sys.monitoring.register_callback(1, events.JUMP, lambda *jump: seen.append(jump[1:]))
                sys.monitoring.set_local_events(1, turn.__code__, events.JUMP)
                turn()
                print(seen)
                '''):
            self.assertIn("('line', ", run.out)

    def test_the_child_of_a_fork_reports_none(self):
        for _, run in self.each('''
                import os
                import time
                import numpy
                def main():
                    for i in range(5):
                        time.sleep(0.002)
                        i += 1
                if os.fork() == 0:
                    main()
                    os._exit(0)
                os.wait()
                '''):
            self.assertEqual(run.turns, [])


if __name__ == '__main__':
    unittest.main()
