# SPDX-License-Identifier: MIT
"""Loaders that the hook does not know: where one is iterated, the report says that its batches, and the time
that is waited for them, are not seen. Of a library that is imported alone nothing is said."""
from .events import Around
from .parts import ABSENT, Part, Parts, report

_LOST = 'its batches, and the time that is waited for them'
_LIBRARIES = {   # module -> name, and what is called where it is iterated
    'grain._src.python.dataset.dataset': ('grain', 'DatasetIterator.__init__'),
    'torchdata.nodes.loader': ('torchdata_nodes', 'Loader.__iter__'),
    'nvidia.dali.plugin.base_iterator': ('dali', '_DaliBaseIterator.__iter__'),
    'ffcv.loader.loader': ('ffcv', 'Loader.__iter__'),
    'ray.data.iterator': ('ray_data', 'DataIterator.iter_batches', 'DataIterator.iter_torch_batches'),
}
_reported = set()


def install(module):
    """`module` is one of these, just executed."""
    name, *calls = _LIBRARIES[module.__name__]

    def seen(args, kwargs):
        if name not in _reported:
            _reported.add(name)
            report('other_loaders.' + name, ABSENT, '%s is a loader that the hook does not know: %s' % (
                name, _LOST))
    parts = Parts('other_loaders', Part(name, _LOST, *calls, any_of=True))
    parts.install(module, dict.fromkeys(calls, lambda call: Around(call, seen, _nothing)))


def _nothing(token, args, result, succeeded):
    """Never called: `seen` is not interested in a result."""
