// SPDX-License-Identifier: MIT
// check_trace FILE: whether what opens such traces takes the file. Exit 1 and a line a problem
// where it does not.
#include <cstdio>
#include <memory>

#include "tests/trace_check/trace_check.h"

int main(int argc, char** argv) {
  using namespace stallprof;
  if (argc != 2) {
    std::fprintf(stderr, "usage: check_trace FILE\n");
    return 2;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(argv[1], "rb"),
                                                             std::fclose);
  if (!file) {
    std::perror(argv[1]);
    return 2;
  }
  const TraceCheck check = checkTrace(file.get());
  for (const std::string& problem : check.problems) std::printf("%s\n", problem.c_str());
  if (check.wrong > check.problems.size())
    std::printf("and %llu more\n",
                static_cast<unsigned long long>(check.wrong - check.problems.size()));
  if (!check.ok()) return 1;
  std::printf("%s: %llu events, nothing wrong\n", check.format.c_str(),
              static_cast<unsigned long long>(check.events));
  return 0;
}
