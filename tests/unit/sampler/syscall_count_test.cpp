// SPDX-License-Identifier: MIT
#include "sampler/proc/syscall_count.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/catch.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

constexpr char kEvent[] = "events/syscalls/sys_enter_openat/id";
constexpr int kOpens = 100;

// A child that waits for a byte, then opens a file `kOpens` times and ends.
pid_t openingChild(Fd& go) {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char released = 0;
    if (::read(ends[0], &released, 1) == 1)
      for (int i = 0; i < kOpens; ++i) ::close(::open("/dev/null", O_RDONLY));
    ::_exit(0);
  }
  ::close(ends[0]);
  go = Fd(ends[1]);
  return child;
}

// Other mounts come and go with the tests that run beside this one.
std::vector<std::string> traceMounts() {
  std::vector<std::string> found;
  std::istringstream mounts(readFile("/proc/self/mountinfo").value());
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" - tracefs ") != std::string::npos ||
        line.find(" - debugfs ") != std::string::npos)
      found.push_back(line);
  return found;
}

}  // namespace

TEST_CASE("the tracepoint is read from either place where tracefs is mounted") {
  Machine machine;
  CHECK(openatTracepoint(machine.root()) == -ENOENT);
  machine.file(std::string("sys/kernel/debug/tracing/") + kEvent, "612\n");
  CHECK(openatTracepoint(machine.root()) == 612);
  machine.file(std::string("sys/kernel/tracing/") + kEvent, "613\n");
  CHECK(openatTracepoint(machine.root()) == 613);
}

TEST_CASE("opens are counted, or it is said why not; no mount is left behind") {
  const std::vector<std::string> mountsBefore = traceMounts();
  SyscallCounter counter("/");
  Fd go;
  const pid_t child = openingChild(go);
  const bool opened = counter.open(child);
  REQUIRE(::write(go.get(), "x", 1) == 1);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  EventList list;
  counter.sample(std::chrono::seconds(1), list);
  const auto counts = list.all<SyscallCount>();
  if (opened) {
    CHECK(list.source("opens").first == Coverage::kFull);
    REQUIRE(counts.size() == 1);
    CHECK(counts[0].count == kOpens);
  } else {
    CHECK(list.source("opens").first == Coverage::kAbsent);
    CHECK(list.source("opens").second.starts_with("not counted: "));
    CHECK(counts.empty());
  }
  CHECK(traceMounts() == mountsBefore);
}
