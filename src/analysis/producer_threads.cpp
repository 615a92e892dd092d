// SPDX-License-Identifier: MIT
#include "analysis/producer_threads.h"

#include <algorithm>

#include "analysis/blame.h"
#include "analysis/looks.h"

namespace stallprof {
namespace {

constexpr double kWorksMeanwhile = 0.10;  // of the trainer's waiting: less is chance
constexpr double kComputes = 0.20;        // of a thread's running looks: it is the model's
constexpr double kFewestLooks = 30;       // of all running looks: below, shares are noise
constexpr double kLeastWaiting = 0.01;    // of the stretch: nobody is waited for

struct Stretch {
  Nanos begin{}, end{};
};

Nanos scaled(Nanos value, double share) {
  return Nanos(static_cast<Nanos::rep>(static_cast<double>(value.count()) * share));
}

// In an evaluation, a checkpoint or a line that makes data the graph is not the training's.
bool ofModel(const StackLabel& label) {
  return !label.rule || label.rule->work || label.rule->phase == Phase::kCompute;
}

Nanos worked(const Observed& seen) { return seen.run + seen.queued + seen.extract; }

class Finder {
 public:
  Finder(const Trace& trace, const StackLabels& labels, const TrainerTimeline& line, Nanos begin,
         Nanos end)
      : trace_(trace), labels_(labels), line_(line), begin_(begin), end_(end) {
    found_.getNexts = GetNexts(trace, line.who.process);
  }

  ProducerThreads find() {
    lookAtFetches();
    lookAtTrainer();
    join();
    Nanos waiting{};
    for (const Stretch& s : waits_) waiting += s.end - s.begin;
    if (seconds(waiting) < kLeastWaiting * seconds(end_ - begin_)) return std::move(found_);
    PhaseLooks running;
    for (const ThreadId id : trace_.process(line_.who.process).threads) {
      if (id == line_.who.thread) continue;
      Nanos meanwhile{};
      for (const Stretch& s : waits_)
        meanwhile += worked(observe(trace_.thread(id), s.begin, s.end));
      if (seconds(meanwhile) < kWorksMeanwhile * seconds(waiting) || computes(id)) continue;
      found_.threads.push_back(id);
      lookAtProducer(id, running);
    }
    if (running.all.looks >= kFewestLooks) {
      found_.cpuExtract = running.ratio(Phase::kExtract);
      found_.cpuLoad = running.ratio(Phase::kLoad);
    }
    return std::move(found_);
  }

 private:
  void lookAtFetches() {
    for (std::size_t i = 0; i < line_.fetches.size(); ++i) {
      const Timed<Fetch>& fetch = *line_.fetches[i];
      if (!line_.passes[line_.passOf[i]].byThreads || fetch.at >= end_ || fetch.end() <= begin_)
        continue;
      waits_.push_back({std::max(begin_, fetch.at), std::min(end_, fetch.end())});
    }
  }

  // Looks outside of fetches: what a fetch is for, the hook says.
  void lookAtTrainer() {
    auto fetch = line_.fetches.begin();
    eachLook(trace_.thread(line_.who.thread), begin_, end_, [&](const Look& look) {
      while (fetch != line_.fetches.end() && (*fetch)->end() < look.at) ++fetch;
      if (fetch != line_.fetches.end() && (*fetch)->at <= look.at) return;
      const StackLabel label = labels_.of(look.stack->stack, Side::kTrainer);
      if (waitsForThreads(label, look.wait) || found_.graphWaits(label, look.wait, look.at))
        waits_.push_back({look.at - look.stands, look.at});
    });
  }

  // Looks in a row stand for one stretch: there may be thousands of threads to hold against it.
  void join() {
    std::sort(waits_.begin(), waits_.end(),
              [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    std::vector<Stretch> joined;
    for (const Stretch& s : waits_)
      if (joined.empty() || s.begin > joined.back().end)
        joined.push_back(s);
      else
        joined.back().end = std::max(joined.back().end, s.end);
    waits_ = std::move(joined);
  }

  [[nodiscard]] bool computes(ThreadId id) const {
    double running = 0, computing = 0;
    eachLook(trace_.thread(id), begin_, end_, [&](const Look& look) {
      if (look.wait != Wait::kRunning) return;
      const PhaseRule* rule = labels_.of(look.stack->stack, Side::kTrainer).rule;
      ++running, computing += rule && !rule->work && rule->phase == Phase::kCompute;
    });
    return running > 0 && computing > kComputes * running;
  }

  void lookAtProducer(ThreadId id, PhaseLooks& running) const {
    eachLook(trace_.thread(id), begin_, end_, [&](const Look& look) {
      if (look.wait != Wait::kRunning) return;
      const StackLabel label = labels_.of(look.stack->stack, Side::kProducer);
      running.add(StackLabels::look(label, look.wait, false).phase, look.stack,
                  seconds(look.stands));
    });
  }

  const Trace& trace_;
  const StackLabels& labels_;
  const TrainerTimeline& line_;
  const Nanos begin_, end_;
  std::vector<Stretch> waits_;
  ProducerThreads found_;
};

}  // namespace

bool waitsForThreads(const StackLabel& label, Wait wait) {
  return wait != Wait::kRunning && label.rule && label.rule->handover;
}

bool ProducerThreads::graphWaits(const StackLabel& label, Wait wait, Nanos at) const {
  return wait != Wait::kRunning && ofModel(label) && getNexts.at(at);
}

bool ProducerThreads::graphHidden(const StackLabel& label, Wait wait) const {
  return wait != Wait::kRunning && ofModel(label) && getNexts.blind();
}

bool ProducerThreads::has(ThreadId id) const {
  return std::find(threads.begin(), threads.end(), id) != threads.end();
}

ProducerThreads::Doing ProducerThreads::in(const Trace& trace, Nanos begin, Nanos end) const {
  Observed all;
  for (const ThreadId id : threads) all += observe(trace.thread(id), begin, end);
  const Nanos length = end - begin, busy = worked(all);
  const double scale = busy > length ? seconds(length) / seconds(busy) : 1;
  Doing doing;
  const Nanos cpu = scaled(all.run + all.queued, scale);
  doing.extractCpu = scaled(cpu, cpuExtract);
  doing.extract = scaled(all.extract, scale) + doing.extractCpu;
  const Nanos handing = scaled(cpu, cpuLoad);
  doing.transform = cpu - doing.extractCpu - handing;
  const Nanos idle = std::max(Nanos{}, length - doing.extract - doing.transform - handing);
  doing.unknown = std::min(all.unknown, idle);
  doing.load = length - doing.extract - doing.transform - doing.unknown;
  return doing;
}

ProducerThreads findProducerThreads(const Trace& trace, const StackLabels& labels,
                                    const TrainerTimeline& line, Nanos begin, Nanos end) {
  return Finder(trace, labels, line, begin, end).find();
}

}  // namespace stallprof
