// SPDX-License-Identifier: MIT
#pragma once

// glibc 2.34 moved these into libc.so.6 under new versions; bound to the old ones the agent loads
// into the jobs of older containers too (Ubuntu 20.04 has 2.31). The newest version asked for is
// checked by scripts/check --built.
#if defined(__x86_64__) && defined(__GLIBC__)
#define STALLPROF_OLD_GLIBC(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
STALLPROF_OLD_GLIBC(dlopen);
STALLPROF_OLD_GLIBC(dlsym);
STALLPROF_OLD_GLIBC(dlclose);
STALLPROF_OLD_GLIBC(pthread_create);
STALLPROF_OLD_GLIBC(pthread_attr_setstacksize);
STALLPROF_OLD_GLIBC(pthread_sigmask);
#endif
