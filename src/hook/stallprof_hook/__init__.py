# SPDX-License-Identifier: MIT
"""stallprof's hook: reports batches, workers and steps to the recorder, from inside the job.

`start()` only puts a watcher on sys.meta_path. When one of the modules in ADAPTERS has been
imported, its adapter (one small file each, same package) is loaded and puts the framework's
functions into `Around`s. A Python that never imports a framework pays for this file alone (often
compiled each time: a job may not write here), so the rest is in watch.py; where Yama's scope is 1
for the extension module, too.
"""
import os
import sys

ADAPTERS = {
    'torch': 'torch_settings',
    'torch.utils.data.dataloader': 'torch_loader',
    'torch.utils.data._utils.worker': 'torch_worker',
    'torch.utils.data._utils.fetch': 'torch_samples',
    'torchdata.stateful_dataloader.stateful_dataloader': 'torch_loader',
    'torchdata.stateful_dataloader.worker': 'torch_worker',
    'torch.optim.optimizer': 'torch_optim',
    'torch._dynamo.eval_frame': 'torch_optim',
    'fastai.optimizer': 'torch_optim',
    'torch.serialization': 'torch_save',
    'torch.nn.modules.module': 'torch_modes',
    'torch.autograd.profiler': 'torch_cuda',
    'torch.cuda.graphs': 'torch_cuda',
    'tensorflow.python.data.ops.iterator_ops': 'tf_data',
    'tensorflow.python.data.ops.dataset_ops': 'tf_settings',
    'keras.src.trainers.data_adapters.py_dataset_adapter': 'tf_settings',
    'keras.src.backend.tensorflow.trainer': 'tf_keras',
    'keras.src.backend.torch.trainer': 'tf_keras',
    'keras.src.backend.jax.trainer': 'tf_keras',
    'tf_keras.src.engine.training': 'tf_keras',
    'keras.src.engine.training': 'tf_keras',
    'keras.engine.training': 'tf_keras',
    'tensorflow.python.eager.polymorphic_function.polymorphic_function': 'tf_steps',
    'tensorflow.python.eager.def_function': 'tf_steps',
    'keras.src.optimizers.base_optimizer': 'tf_steps',
    'tf_keras.src.optimizers.optimizer': 'tf_steps',
    'keras.src.optimizers.optimizer': 'tf_steps',
    'xgboost.core': 'boosting',
    'lightgbm.basic': 'boosting',
    'jax._src.monitoring': 'jax_compiles',
    'jax._src.pjit': 'jax_steps',
    'jax._src.interpreters.ad': 'jax_steps',
    'optax._src.update': 'jax_steps',
    'equinox._update': 'jax_steps',
    'grain._src.python.dataset.dataset': 'other_loaders',
    'torchdata.nodes.loader': 'other_loaders',
    'nvidia.dali.plugin.base_iterator': 'other_loaders',
    'ffcv.loader.loader': 'other_loaders',
    'ray.data.iterator': 'other_loaders',
}

if sys.version_info >= (3, 12):
    ADAPTERS['numpy'] = 'loops'


class Watcher:
    """A meta path finder that finds nothing itself: it marks the specs of watched modules."""

    def find_spec(self, name, path=None, target=None):
        if name not in ADAPTERS:
            return None
        try:
            from . import watch
        except Exception:   # a process that may no longer read these files: another user, another root
            ADAPTERS.clear()
            return None
        return watch.marked_spec(self, name, path, target)


def start():
    """Called once, by sitecustomize. Does nothing unless a recorder waits for events."""
    events = os.environ.get('STALLPROF_EVENTS')
    if not events:
        return
    watcher = Watcher()
    sys.meta_path.insert(0, watcher)
    if 'torch' in sys.modules:  # something at start-up was faster
        from . import watch
        watch.adapt_loaded(watcher)
    if _only_parents_may_read():
        from ._stallprof_events import permit
        permit(events)


def _only_parents_may_read():
    """Yama's scope 1, as on Ubuntu. Where it is less nothing is to be done, and where it is more
    nothing can be."""
    try:
        with open('/proc/sys/kernel/yama/ptrace_scope', 'rb', 0) as scope:
            return scope.read(1) == b'1'
    except OSError:
        return False
