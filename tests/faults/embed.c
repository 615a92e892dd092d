/* SPDX-License-Identifier: MIT
 * embed LIBPYTHON CODE: a program of its own with a Python inside that runs CODE. 77: no such
 * library. */
#include <dlfcn.h>
#include <stddef.h>

int main(int argc, char** argv) {
  void* python = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (!python) return 77;
  void (*begin)(void) = (void (*)(void))dlsym(python, "Py_Initialize");
  int (*run)(const char*, void*) =
      (int (*)(const char*, void*))dlsym(python, "PyRun_SimpleStringFlags");
  int (*end)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
  begin();
  return run(argv[2], NULL) || end() ? 1 : 5;
}
