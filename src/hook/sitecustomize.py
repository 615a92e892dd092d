# SPDX-License-Identifier: MIT
# Starts stallprof's hook in a Python of the job, then steps aside for the user's own sitecustomize.
# Valid Python 2.7: every Python the job starts finds this file first. Ours never shows: theirs is
# loaded once, with its own exceptions, and is what sys.modules holds afterwards (or nothing is).


def _stand_in(path, at, here):
    """The user had no PYTHONPATH (ours ends in a slash then), and the job has added to it: without us an
    empty entry would be there, which is the working directory."""
    import os
    parts = os.environ.get('PYTHONPATH', '').split(':')
    if here + '/' not in parts or len(parts) == 1:
        return
    try:
        directory = os.getcwd()
    except OSError:
        directory = ''
    if directory not in path:
        path.insert(at, directory)


def _step_aside():
    import sys
    ours = sys.modules.pop('sitecustomize', None)  # kept alive: Python 2 empties a dropped module
    here = __file__.rpartition('/')[0]
    try:
        if sys.version_info >= (3, 8) and 't' not in getattr(sys, 'abiflags', ''):
            import stallprof_hook
            stallprof_hook.start()
    except Exception:
        pass
    at = sys.path.index(here) if here in sys.path else 0
    sys.path[:] = [entry for entry in sys.path if entry != here]
    _stand_in(sys.path, at, here)
    sys.path_importer_cache.pop(here, None)
    import sitecustomize  # theirs; an ImportError here is how `site` learns that there is none
    return ours, sitecustomize


_step_aside()
