// SPDX-License-Identifier: MIT
//
// A trainer with NVTX's own headers in it, and its own clock beside: each step is printed as
// "step BEGIN END extract=NS transform=NS compute=NS", by the same clock that NVTX's tool reads.
//
//   nvtx_trainer STEPS [own]     own: ranges named as a program may name them, not as phases are
#include <nvtx3/nvToolsExt.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

long long now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void spin(long long ns) {
  for (const long long until = now() + ns; now() < until;) {
  }
}

template <class Work>
long long phase(const char* name, Work work) {
  const long long begin = now();
  nvtxRangePushA(name);
  work();
  nvtxRangePop();
  return now() - begin;
}

}  // namespace

int main(int count, char** words) {
  const int steps = count > 1 ? std::atoi(words[1]) : 60;
  const bool own = count > 2 && std::strcmp(words[2], "own") == 0;
  for (int i = 0; i < steps; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, own ? "iteration %d" : "step %d", i);
    const long long begin = now();
    nvtxRangePushA(name);
    const long long extract = phase(own ? "read" : "extract", [] { usleep(3000); });
    const long long transform = phase(own ? "augment" : "transform", [] { spin(2'000'000); });
    const long long compute = phase(own ? "forward_layer1" : "compute", [] { spin(4'000'000); }) +
                              phase(own ? "forward_layer2" : "compute", [] { spin(1'000'000); });
    nvtxRangePop();
    std::printf("step %lld %lld extract=%lld transform=%lld compute=%lld\n", begin, now(), extract,
                transform, compute);
  }
  return 0;
}
