// SPDX-License-Identifier: MIT
#include "sampler/processes/hook_reach.h"

#include "tests/catch.h"
#include "tests/unit/sampler/heap_bytes.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

class ReachNowhere final : public EventOut {
 public:
  StringId intern(std::string_view) override { return StringId{1}; }
  void put(const Event&) override {}
};

}  // namespace

TEST_CASE("programs that were asked about take no memory once very many of them have ended") {
  Machine machine;
  machine.process({100, 1, "python3"});
  ReachNowhere out;
  const Nanos at = std::chrono::seconds(1);
  ProcessTree tree(machine.root(), 100);
  tree.sample(at, out);
  HookReach hook(machine.root(), tree);
  hook.expect("/proc/1/fd/9");
  std::uint32_t pid = 1000;
  const auto startAndEnd = [&](int count) {
    for (int i = 0; i < count; ++i, ++pid) {
      tree.take({TaskEvent::Kind::kFork, pid, pid, 100, at, {}});
      hook.sample(at, out);
      tree.take({TaskEvent::Kind::kExit, pid, pid, 100, at, {}});
    }
  };
  startAndEnd(10'000);  // what the tree itself keeps of those that ended is at its limit
  const std::size_t before = heapBytes();
  startAndEnd(40'000);
  CHECK(tree.processes().size() == 1);
  CHECK(heapBytes() < before + (1u << 20));
}
