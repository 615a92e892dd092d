/* SPDX-License-Identifier: MIT
 * Prints "out", ends with 7, and asks the kernel for next to nothing else: linked statically. */
#include <unistd.h>

int main(void) { return write(1, "out\n", 4) == 4 ? 7 : 1; }
