// SPDX-License-Identifier: MIT
#include "sampler/processes/hook_reach.h"

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"
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
  hook.expect("/proc/1/fd/9", "");
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

TEST_CASE("a PYTHONPATH of a program's own, or another root, is why it has no hook; each is said") {
  Machine machine;
  const auto start = [&](int pid, const std::string& path, const std::string& root) {
    machine.process({pid, 1, "python3"});
    machine.file("proc/" + std::to_string(pid) + "/environ",
                 std::string("PATH=/bin\0STALLPROF_EVENTS=/proc/1/fd/9\0PYTHONPATH=", 51) + path +
                     std::string(1, '\0'));
    machine.link("proc/" + std::to_string(pid) + "/root", machine.root() + root);
  };
  machine.file("own/opt/hook/sitecustomize.py", "");
  start(100, "/opt/hook:/work", "/own");
  ProcessTree tree(machine.root(), 100);
  EventList list;
  tree.sample(ms(1000), list);
  HookReach hook(machine.root(), tree);
  hook.expect("/proc/1/fd/9", "/opt/hook");
  const auto say = [&](int pid) {
    (void)tree.processOf(static_cast<std::uint32_t>(pid), 0);
    hook.sample(ms(1000 + pid), list);
    return list.source("hook").second;
  };
  CHECK(say(100) == "never reported");
  start(101, ".", "/own");
  CHECK(say(101).find("another PYTHONPATH") != std::string::npos);
  start(102, "/opt/hook", "/image");
  CHECK(say(102).find("another PYTHONPATH") != std::string::npos);
  CHECK(say(102).find("another root") != std::string::npos);
  start(103, "/opt/hook", "/own");
  machine.file("proc/103/cmdline",
               std::string("python3\0--check-hash-based-pycs\0always\0-I\0train.py\0", 51));
  CHECK(say(103).find("103 (python3) was started with -I: it loads no hook") != std::string::npos);
}

TEST_CASE("an environment that was emptied is another than one that its program wrote over") {
  const auto reason = [](const std::string& environment) {
    Machine machine;
    machine.process({100, 1, "python3"});
    machine.file("proc/100/environ", environment);
    ProcessTree tree(machine.root(), 100);
    EventList list;
    tree.sample(ms(1000), list);
    HookReach hook(machine.root(), tree);
    hook.expect("/proc/1/fd/9", "/opt/hook");
    hook.sample(ms(1100), list);
    return list.source("hook").second;
  };
  CHECK(reason(std::string("DUR=8\0HOME=/root\0", 17)).find("without the environment of the run") !=
        std::string::npos);
  CHECK(reason(std::string("python: train --lr=0.1\0\0\0", 25)) == "never reported");
  CHECK(reason(std::string("\0\0\0\0", 4)) == "never reported");
  CHECK(reason("") == "never reported");
}
