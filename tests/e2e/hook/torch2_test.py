# SPDX-License-Identifier: MIT
"""A choice of the hook's tests on PyTorch 2.x, where scripts/torch2 has put one: its iterators and workers,
torchdata's, its optimizers' hooks, and that no name which the hook relies on is missing."""
import os
import unittest

PYTHON = os.environ.get('STALLPROF_TORCH2', '')
HAVE = os.path.exists(PYTHON)
if HAVE:
    os.environ['STALLPROF_TORCH'] = PYTHON
import loader_test  # noqa: E402
import names_test  # noqa: E402
import settings_test  # noqa: E402
import torch_case  # noqa: E402
import updates_test  # noqa: E402

CHOSEN = {
    loader_test.Epochs: ('test_persistent_workers_have_a_new_key_each_epoch', 'test_out_of_order'),
    updates_test.OtherEvents: ('test_checkpoints_carry_the_users_line', 'test_optimizers_count_once_a_step',
                               'test_nothing_is_kept_of_an_optimizer_that_is_gone',
                               'test_what_is_saved_with_the_step_of_an_optimizer_has_none_of_ours'),
    updates_test.Evaluation: ('test_that_of_a_function_that_torch_compile_traces', 'test_each_is_a_span'),
    loader_test.Stateful: ('test_fetches_and_tasks', 'test_one_that_goes_on_where_it_was_saved'),
    settings_test.Settings: ('test_optimizers_that_can_be_fused_are',),
    names_test.Torch: ('test_nothing_is_missing_as_it_is', 'test_optimizers'),
}


class Torch2(unittest.TestCase):
    @unittest.skipUnless(HAVE, 'no PyTorch 2.x: scripts/torch2 gets one')
    def test_it_is_there(self):
        self.assertEqual(torch_case.TORCH.partition('.')[0], '2')


def load_tests(loader, tests, pattern):
    suite = unittest.TestSuite([Torch2('test_it_is_there')])
    for case, names in CHOSEN.items() if HAVE else ():
        suite.addTests(map(case, names))
    return suite


if __name__ == '__main__':
    unittest.main()
