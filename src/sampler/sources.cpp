// SPDX-License-Identifier: MIT
#include "sampler/sources.h"

#include <variant>

#include "event/strings.h"
#include "sampler/host/cgroup_sampler.h"
#include "sampler/host/host.h"
#include "sampler/proc/syscall_count.h"
#include "sampler/processes/process_sampler.h"
#include "sampler/processes/process_tree.h"
#include "sampler/processes/task_events.h"
#include "sampler/thread_sampler.h"

namespace stallprof {
namespace {

// Keeps the SourceStates and drops the rest.
class SourceList : public EventOut {
 public:
  StringId intern(std::string_view text) override { return strings_.intern(text); }
  void put(const Event& event) override {
    const auto* source = std::get_if<SourceState>(&event.payload);
    if (source == nullptr) return;
    reports.push_back({std::string(strings_.at(source->source)), source->state,
                       std::string(strings_.at(source->why))});
  }
  std::vector<SourceReport> reports;

 private:
  Strings strings_;
};

}  // namespace

std::vector<SourceReport> samplerSources(const std::string& root, pid_t pid) {
  SourceList list;
  const Nanos at = now();
  TaskEvents events;
  SyscallCounter opens(root);
  if (isLive(root)) {
    events.open(pid);
    opens.open(pid);
  }
  ProcessTree tree(root, pid);
  tree.follow(events);
  ThreadSampler threads(root, tree);
  ProcessSampler processes(root, tree);
  HostSampler host(root, &tree);
  CgroupSampler cgroup(root, pid, &tree);
  SiblingRecorders siblings(tree, host.allowedCpus());
  for (Sampler* sampler : {static_cast<Sampler*>(&tree), static_cast<Sampler*>(&threads),
                           static_cast<Sampler*>(&processes), static_cast<Sampler*>(&host),
                           static_cast<Sampler*>(&cgroup), static_cast<Sampler*>(&siblings),
                           static_cast<Sampler*>(&opens)})
    sampler->sample(at, list);
  return list.reports;
}

}  // namespace stallprof
