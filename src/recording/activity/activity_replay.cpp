// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>
#include <memory>

#include "recording/activity/activity.h"
#include "recording/activity/activity_keep.h"
#include "recording/activity/activity_process.h"
#include "recording/activity/activity_source.h"

namespace stallprof {
namespace {

class Replay {
 public:
  Replay(const EventMemory::Identities& identities, EventOut& out)
      : identities_(identities), out_(out) {}

  void take(const KeptActivity::Item& item) {
    const Nanos now(item.header.now);
    const ActivityProcess::Sink sink{identities_, out_, now};
    std::unique_ptr<ActivityProcess>& process = processes_[item.header.area];
    if (since_ == Nanos{}) since_ = now - kBefore;
    budget_.tick(now);
    if (!process) process = std::make_unique<ActivityProcess>(since_, budget_);
    switch (item.header.step) {
      case kept::Step::kControl:
        if (item.bytes.size() != sizeof(AreaControl)) return;
        std::memcpy(static_cast<void*>(&control_), item.bytes.data(), sizeof control_);
        return process->control(control_, sink);
      case kept::Step::kNames:
        return process->names(item.bytes, sink);
      case kept::Step::kFull:
        return process->buffer(item.bytes, false, sink);
      case kept::Step::kTorn:
        return process->buffer(item.bytes, true, sink);
      case kept::Step::kSettle:
        process->settle(sink);
        break;
      case kept::Step::kEnd:
        process->end(sink);
        process.reset();
    }
    std::vector<const ActivityProcess*> all;
    for (const auto& one : processes_)
      if (one) all.push_back(one.get());
    source_.report(all, now, out_);
  }

 private:
  // The file does not say when the recorder began; an agent is found after half a second.
  static constexpr Nanos kBefore = std::chrono::minutes(1);

  const EventMemory::Identities& identities_;
  EventOut& out_;
  Nanos since_{};
  ActivityBudget budget_;
  ActivitySource source_;
  AreaControl control_;
  std::array<std::unique_ptr<ActivityProcess>, STALLPROF_ACTIVITY_AREAS> processes_;
};

}  // namespace

Status replayActivity(const std::string& file, const EventMemory::Identities& identities,
                      EventOut& out) {
  auto kept = KeptActivity::open(file);
  if (!kept.ok()) return Error(kept.error());
  Replay replay(identities, out);
  KeptActivity::Item item;
  while (kept.value()->next(item)) replay.take(item);
  return Done{};
}

}  // namespace stallprof
