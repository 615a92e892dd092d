// SPDX-License-Identifier: MIT
// python_stacks PID [SAMPLES] [--save FILE]: the Python stacks of a process, one line a thread, as
// stallprof reads them, once or SAMPLES times a millisecond apart. --save keeps the memory that one
// sample read as a fixture for unit_sampler_python.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sampler/python/runtime/runtime_locator.h"
#include "tests/unit/sampler_python/one_sample.h"

using namespace stallprof;
using namespace stallprof::python;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto pid = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const long samples = argc > 2 && argv[2][0] != '-' ? std::strtol(argv[2], nullptr, 10) : 1;
  const bool save = argc > 3 && std::strcmp(argv[argc - 2], "--save") == 0;
  ProcessMemory memory(pid);
  testing::RecordingMemory recorded(memory);
  RuntimeLocator locator("/");
  int error = 0;
  const auto runtimes = locator.find(pid, memory, error);
  if (runtimes.empty()) {
    std::fprintf(stderr, "no runtime found (maps %s)\n", error == 0 ? "read" : "not readable");
    return 1;
  }
  const auto isThread = [&](std::uint32_t tid) {
    const std::string path =
        "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm";
    return tid != 0 && ::access(path.c_str(), F_OK) == 0;
  };
  for (const Runtime& runtime : runtimes) {
    testing::Kept kept;
    for (long i = 0; i < samples; ++i) {
      const testing::Sample sample = testing::sampleOnce(runtime, recorded, isThread, kept);
      if (!sample.wrong.empty()) {
        std::fprintf(stderr, "%s: %s\n", runtime.file.c_str(), sample.wrong.c_str());
        break;
      }
      for (const testing::Stack& stack : sample.stacks)
        std::printf("%s\n", testing::describe(stack).c_str());
      if (save)
        testing::save(argv[argc - 1], "CPython " + versionText(sample.version), runtime, sample,
                      recorded);
      if (samples > 1) ::usleep(1000);
    }
  }
  return 0;
}
