# SPDX-License-Identifier: MIT
"""Holds a report's phases against what a program measured of itself."""
import collections

Truth = collections.namedtuple('Truth', 'begin end phases')


def truth_of(out):
    """The steps a trainer printed: step BEGIN END phase=NS ..."""
    steps = []
    for line in out.splitlines():
        words = line.split()
        if words[:1] == ['step']:
            phases = {name: int(ns) for name, ns in (word.split('=') for word in words[3:])}
            steps.append(Truth(int(words[1]), int(words[2]), phases))
    return steps


def check(test, report, steps, phases):
    """`report` (of JSON) is of the last of `steps`; its share of each of `phases` is theirs within
    2 points."""
    count = report['steps']['window_count']
    test.assertEqual(report['steps']['count'], len(steps))
    window = steps[-count:]
    whole = window[-1].end - window[0].begin
    test.assertLess(abs(report['steps']['window_ns'] - whole), 0.02 * whole)
    shares = report['breakdown']['phase_ratio']
    for phase in phases:
        own = sum(step.phases[phase] for step in window) / whole
        test.assertLess(abs(shares[phase] - own), 0.02,
                        '%s: %.4f, by its own clock %.4f' % (phase, shares[phase], own))
