// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/text_form/trace_form.h"

namespace stallprof {
namespace {

struct Lines {
  const Trace& trace;
  std::vector<std::pair<Nanos, std::string>> lines;

  template <class P>
  void add(Nanos at, const P& payload) {
    lines.emplace_back(at, eventLine(Event{at, payload}, trace.strings));
  }
  template <class P>
  void addAll(const Table<P>& table) {
    for (const Timed<P>& row : table) add(row.at, row.data);
  }
};

void addLives(Lines& into) {
  const Trace& trace = into.trace;
  for (const ProcessLife& p : trace.processes) {
    into.add(p.seen, ProcessSeen{p.id, p.parent, p.pid, 0, p.comm, p.command, p.exe});
    if (p.gone != Nanos::max()) into.add(p.gone, ProcessGone{p.id});
    into.addAll(p.usage);
  }
  for (const Timed<StackSeen>& s : trace.stacks)
    if (!s.data.stack.none()) into.add(s.at, s.data);
  for (const ThreadLife& t : trace.threads) {
    into.add(t.seen, ThreadSeen{t.id, t.process, t.tid, t.name});
    if (t.gone != Nanos::max()) into.add(t.gone, ThreadGone{t.id});
    into.addAll(t.slices);
    into.addAll(t.stacks);
    into.addAll(t.natives);
  }
}

}  // namespace

std::string traceText(const Trace& trace) {
  Lines all{trace, {}};
  addLives(all);
  all.addAll(trace.host);
  all.addAll(trace.disks);
  all.addAll(trace.networks);
  all.addAll(trace.cgroups);
  all.addAll(trace.files);
  all.addAll(trace.syscalls);
  all.addAll(trace.places);
  all.addAll(trace.counters);
  all.addAll(trace.frameworks);
  all.addAll(trace.settings);
  all.addAll(trace.loaders);
  all.addAll(trace.iterators);
  all.addAll(trace.fetches);
  all.addAll(trace.workers);
  all.addAll(trace.tasks);
  all.addAll(trace.slowSamples);
  all.addAll(trace.optimizerSteps);
  all.addAll(trace.stepPlaces);
  all.addAll(trace.turns);
  all.addAll(trace.spans);
  all.addAll(trace.clocks);
  all.addAll(trace.sources);
  all.addAll(trace.losses);
  all.addAll(trace.gaps);
  all.addAll(trace.pauses);
  all.addAll(trace.ends);
  all.addAll(trace.recorder);
  all.addAll(trace.signals);
  all.addAll(trace.devices);
  all.addAll(trace.deviceTraces);
  all.addAll(trace.deviceSpans);
  all.addAll(trace.deviceWorks);
  all.addAll(trace.deviceUses);
  all.addAll(trace.deviceCalls);
  all.addAll(trace.deviceCallUses);
  all.addAll(trace.ranges);
  all.addAll(trace.deviceUsages);
  all.addAll(trace.deviceProcesses);
  std::stable_sort(all.lines.begin(), all.lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = manifestLines(trace.manifest);
  for (const auto& [at, line] : all.lines) text.append(line).append("\n");
  if (trace.cleanEnd) text.append("clean_end\n");
  return text;
}

}  // namespace stallprof
