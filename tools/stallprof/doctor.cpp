// SPDX-License-Identifier: MIT
#include <cstdio>

#include "base/proc_numbers.h"
#include "base/text.h"
#include "launch/setup/capability.h"
#include "launch/setup/child_environment.h"
#include "launch/setup/log.h"
#include "stallprof/command_line.h"

namespace stallprof {
namespace {

void printSource(const SourceReport& source) {
  std::printf("  %-14s %-8s %s\n", source.name.c_str(), std::string(nameOf(source.state)).c_str(),
              escapeTerminal(source.why, 400).c_str());
}

SourceReport hookSource() {
  if (!procHasOurNumbers()) return {"hook", Coverage::kAbsent, kForeignProc};
  const auto hook = findHook();
  if (hook.ok()) return {"hook", Coverage::kFull, "exact batches and steps, from " + hook.value()};
  return {"hook", Coverage::kAbsent, hook.error().message};
}

class DoctorCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.description(
        "Lists the data sources that this host permits, and the one setting that makes more data "
        "available. Takes no options.");
  }

  int run() override {
    const HostView view = probeFromOutside();
    const Probe& probe = view.probe;
    std::printf(
        "host tier %s (T0 scheduling, T1 waits and bytes, T2 system calls, T3 memory, "
        "T4 perf events, T5 kernel side)\n",
        hostTier(probe).c_str());
    printSource(hookSource());
    for (const SourceReport& source : view.sources) printSource(source);
    std::printf(
        "settings: perf_event_paranoid %s, yama ptrace_scope %s%s, %s\n",
        probe.perfParanoid == -2 ? "not available" : std::to_string(probe.perfParanoid).c_str(),
        probe.yamaScope < 0 ? "not available" : std::to_string(probe.yamaScope).c_str(),
        probe.yamaScope == 1 ? " (processes of run can be read; attach needs CAP_SYS_PTRACE)" : "",
        probe.root ? "root" : "ordinary user");
    std::printf("log: the recorder of a run writes NAME.stallprof/%s (run --log-level)\n",
                kLogFile);
    const std::string setting = oneSetting(probe);
    std::printf("%s\n", setting.empty() ? "no setting makes more data available"
                                        : ("for more data: " + setting).c_str());
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> makeDoctor() { return std::make_unique<DoctorCommand>(); }

}  // namespace stallprof
