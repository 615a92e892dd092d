# SPDX-License-Identifier: MIT
"""torchdata's StatefulDataLoader: torch's own loader, with copies of its iterators and of its worker loop
that keep their state. Their next() is torch's (torch_loader.py)."""
from . import torch_loader

_CLASSES = ('StatefulDataLoader', '_StatefulSingleProcessDataLoaderIter',
            '_StatefulMultiProcessingDataLoaderIter')
PARTS = torch_loader.table('torchdata_loader', *_CLASSES)


def install(module):
    """`module` is torchdata.stateful_dataloader.stateful_dataloader, just executed."""
    torch_loader.install_classes(module, PARTS, *_CLASSES)
