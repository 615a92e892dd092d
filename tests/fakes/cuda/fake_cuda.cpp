// SPDX-License-Identifier: MIT
#include "fake_cuda.h"

#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace {

std::atomic<const fake_tracer*> tracer;
std::atomic<std::uint32_t> correlations;

std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

void sleepNs(std::uint64_t ns) {
  if (ns == 0) return;
  const timespec t{static_cast<time_t>(ns / 1'000'000'000u),
                   static_cast<long>(ns % 1'000'000'000u)};
  nanosleep(&t, nullptr);
}

// As the driver does: the library stays, whatever it answers.
void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == 0) return;
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) initialize();
}

fake_call begin(std::uint32_t cbid) { return {2, cbid, correlations.fetch_add(1) + 1, now(), 0}; }

const fake_tracer* end(fake_call& call) {
  call.end = now();
  const fake_tracer* to = tracer.load();
  if (to != nullptr) to->call(&call);
  return to;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  static std::once_flag once;
  std::call_once(once, inject);
  return 0;
}

int cuDriverGetVersion(int* version) {
  const char* wanted = std::getenv("FAKE_CUDA_DRIVER");
  *version = wanted != nullptr ? std::atoi(wanted) : 13000;
  fake_call call{1, 2, 0, now(), 0};
  end(call);
  return 0;
}

int cuCtxCreate_v2(void** context, unsigned, int) {
  *context = &tracer;
  if (const fake_tracer* to = tracer.load()) to->context();
  return 0;
}

int cuCtxSynchronize() { return 0; }

void fakeSetTracer(const fake_tracer* to) { tracer = to; }

void fakeLaunch(const char* name, std::uint64_t ns) {
  fake_call call = begin(211);
  const std::uint64_t start = now();
  if (const fake_tracer* to = end(call)) to->kernel(&call, name, start, start + ns);
}

void fakeGraph(std::uint64_t ns) {
  fake_call call = begin(311);
  const std::uint64_t start = now();
  if (const fake_tracer* to = end(call)) to->graph(&call, start, start + ns);
}

void fakeCopy(int kind, int memory, std::uint64_t bytes) {
  fake_call call = begin(41);
  if (const fake_tracer* to = end(call)) to->copy(&call, kind, memory, bytes);
}

void fakeDriverCopy() {
  fake_call call = begin(277);  // cuMemcpyHtoDAsync_v2
  call.domain = 1;
  end(call);
}

void fakeSynchronize(std::uint64_t ns) {
  fake_call call = begin(131);
  sleepNs(ns);
  if (const fake_tracer* to = end(call)) to->sync(&call, 3);
}

void fakeQuery() {
  fake_call call = begin(17);
  end(call);
}

}  // extern "C"
