# SPDX-License-Identifier: MIT
# Starts stallprof's hook in a Python of the job, then steps aside for the user's own sitecustomize.
# Valid Python 2.7: every Python the job starts finds this file first. Ours never shows: theirs is
# loaded once, with its own exceptions, and is what sys.modules holds afterwards (or nothing is).


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
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    import sitecustomize  # theirs; an ImportError here is how `site` learns that there is none
    return ours, sitecustomize


_step_aside()
