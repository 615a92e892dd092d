/* SPDX-License-Identifier: MIT
 *
 * NVTX's own headers in a shared object, as PyPI's `nvtx` has them, for nvtx_trainer.py where that
 * is not installed. */
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) int push(const char* name) { return nvtxRangePushA(name); }
__attribute__((visibility("default"))) int pop(void) { return nvtxRangePop(); }
