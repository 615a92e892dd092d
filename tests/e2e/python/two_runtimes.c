/* SPDX-License-Identifier: MIT */
/* two_runtimes LIB SCRIPT LIB SCRIPT: a program with two Pythons in it, each with a thread of its
 * own that runs one script. Says "ready" once both have started. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t started;

struct runtime {
  const char *file, *script;
};

static void* run(void* argument) {
  const struct runtime* of = argument;
  void* library = dlopen(of->file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  void (*initialize)(int) = (void (*)(int))dlsym(library, "Py_InitializeEx");
  int (*simple)(const char*) = (int (*)(const char*))dlsym(library, "PyRun_SimpleString");
  initialize(0);
  sem_post(&started);
  simple(of->script);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  sem_init(&started, 0, 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    static struct runtime of[2];
    of[i].file = argv[1 + 2 * i];
    of[i].script = argv[2 + 2 * i];
    pthread_create(&threads[i], NULL, run, &of[i]);
    sem_wait(&started);
  }
  puts("ready");
  fflush(stdout);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
