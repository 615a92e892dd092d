// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "base/text.h"
#include "launch/session.h"
#include "launch/setup/allocator.h"
#include "stallprof/command_line.h"
#include "stallprof/launch_command.h"
#include "stallprof/reading.h"

namespace stallprof {
namespace {

// For the log of a job; nothing on a terminal, where the job may be drawing a bar of its own.
Nanos usualProgress() { return ::isatty(STDERR_FILENO) == 1 ? Nanos(0) : std::chrono::minutes(1); }

class RunCommand final : public LaunchCommand {
 public:
  RunCommand() { options_.progressEvery = usualProgress(); }

  void declare(CLI::App& app) override {
    app.description(
        "Runs a command, watched, and ends with the report: stallprof run [options] [--] COMMAND "
        "[ARG...]. Options come before the command.");
    declareRecording(app);
    addRepeated(app, "--map", map_, kMapHelp);
    addParsed(app, "--progress",
              "a line on stderr now and then: auto (default: each minute where stderr is no "
              "terminal), off, or seconds between two",
              [this](const std::string& text) { return takeProgress(text); });
    declareOverrides(app);
    declareOutput(app);
    const auto none = [&app](const char* name, bool& value, const char* help) {
      app.add_flag_callback(
          name, [&value] { value = false; }, help);
    };
    none("--no-python", options_.python, "no Python hook in the command, and no Python stacks");
    none("--no-native", options_.native, "do not sample what threads execute in native code");
    app.add_flag(
        "--counters", options_.counters,
        "count the CPUs' own events (cycles, cache misses, stalls) over the whole job, and files "
        "that it opens");
    app.add_flag(
        "--gpu{whole}", gpu_,
        "trace CUDA and NVTX from inside the command; --gpu=windows: only where that can "
        "begin at an update (PyTorch, one device), a second now and then if it costs over 2 %");
    app.add_flag("--nvtx", options_.nvtx,
                 "record the command's NVTX ranges, without tracing CUDA; --gpu and --map do, too");
  }

  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    options_.command = parseOptionsBefore(app, words);
  }

  std::string check() override {
    std::string why = LaunchCommand::check();
    if (why.empty() && options_.command.empty()) why = "no command to run";
    if (why.empty()) why = checkOverrides();
    if (why.empty()) why = checkGpu();
    options_.nvtx = options_.nvtx || options_.gpu != GpuTracing::kOff || !map_.empty();
    return why;
  }

  int run() override { return runSession(options_); }
  int usageStatus() const override { return 125; }  // as `env`: our own failure, nothing started

 private:
  void declareOverrides(CLI::App& app) {
    Overrides& overrides = options_.overrides;
    const auto count = [&app](const std::string& name, unsigned& into, const char* help) {
      addWhole(app, name, {1, 1000000000, "a whole number from 1"}, help,
               [&into](unsigned number) { into = number; });
    };
    addRepeated(
        app, "--set", set_,
        "NAME=VALUE, any number of times: another argument for the program's PyTorch "
        "DataLoader, its code unchanged: num_workers, prefetch_factor, persistent_workers, "
        "pin_memory, in_order; for tf.data: num_parallel_calls, prefetch, "
        "private_threadpool_size; for a PyDataset of Keras: workers, max_queue_size; for the "
        "program's PyTorch optimizers: fused");
    addText(app, "--loader", overrides.loaderAt,
            "FILE:LINE of the loader that --set changes, as the report names it (default: each "
            "that the program makes)");
    count("--threads", overrides.threads,
          "threads of each native pool of the program: PyTorch, OpenMP, MKL, OpenBLAS, OpenCV");
    addText(app, "--allocator", allocator_,
            "the command's memory allocator: keep (the C library's, which then keeps what is "
            "freed), jemalloc, tcmalloc, mimalloc, or a library's path");
    app.add_flag(
        "--replay{10}", replay_,
        "keep so many batches (--replay=N, at least 10; default 10) and give them again and "
        "again: the pace with data always ready");
    app.add_flag("--drain{20}", drain_,
                 "run the loader alone for so many seconds (--drain=SECONDS; default 20), then end "
                 "the program: the pace of its data");
    count("--steps", overrides.steps, "send the command TERM after so many steps");
    count("--for", overrides.seconds, "send the command TERM so many seconds after its first step");
    addChoice(
        app, "--count-from", countFrom_, {"batch", kFromUpdate},
        "where --steps and --for begin to count: batch, the first of any loader (default), or "
        "optimizer-step, the first update of the model, after what the program does before; with "
        "--drain which loader runs: batch, any, or optimizer-step, one read with gradients on");
    addRepeated(app, "--env", overrides.env,
                "NAME=VALUE, any number of times: a variable for the command's environment");
  }

  std::string checkOverrides() {
    Overrides& overrides = options_.overrides;
    for (const std::string& word : set_) {
      auto setting = parseSetting(word);
      if (!setting.ok()) return setting.error().message;
      const std::string name = setting.value().first;
      std::erase_if(overrides.settings, [&](const auto& other) { return other.first == name; });
      overrides.settings.push_back(std::move(setting).value());
    }
    for (const std::string& word : overrides.env)
      if (const Status fit = checkVariable(word); !fit.ok()) return fit.error().message;
    if (!allocator_.empty()) {
      auto word = allocatorVariable(allocator_, overrides.env);
      if (!word.ok()) return word.error().message;
      overrides.env.push_back(std::move(word).value());
    }
    if (!replay_.empty()) overrides.replay = wholeNumber(replay_, 10, 1000000).value_or(0);
    if (!replay_.empty() && overrides.replay == 0)
      return "--replay takes a number of batches from 10, not " + inQuotes(replay_);
    if (!drain_.empty()) overrides.drain = wholeNumber(drain_, 1, 86400).value_or(0);
    if (!drain_.empty() && overrides.drain == 0)
      return "--drain takes seconds, not " + inQuotes(drain_);
    if (overrides.replay > 0 && overrides.drain > 0) return "--replay or --drain, not both";
    if ((overrides.needHook() || overrides.threads > 0 || overrides.ends()) && !options_.python)
      return "--set, --threads, --replay, --drain, --steps and --for need the hook: not "
             "--no-python";
    overrides.fromUpdate = countFrom_ == kFromUpdate;
    if (overrides.fromUpdate && !overrides.ends() && overrides.drain == 0)
      return "--count-from is for --steps, --for or --drain: give one of them";
    if (!overrides.loaderAt.empty() && !overrides.needHook())
      return "--loader names the loader that --set, --replay or --drain is for: give one of them";
    return "";
  }

  std::string checkGpu() {
    if (gpu_ == "whole") options_.gpu = GpuTracing::kWhole;
    if (gpu_ == "windows") options_.gpu = GpuTracing::kWindows;
    if (gpu_.empty() || options_.gpu != GpuTracing::kOff) return "";
    return "--gpu takes nothing or windows, not " + inQuotes(gpu_);
  }

  std::string takeProgress(const std::string& text) {
    const auto every = wholeNumber(text, 1, 86400);
    if (!every && text != "auto" && text != "off")
      return "--progress takes auto, off or seconds, not " + inQuotes(text);
    options_.progressEvery = std::chrono::seconds(every.value_or(0));
    if (text == "auto") options_.progressEvery = usualProgress();
    return "";
  }

  std::vector<std::string> set_;
  std::string allocator_, replay_, drain_, countFrom_, gpu_;
};

}  // namespace

std::unique_ptr<Command> makeRun() { return std::make_unique<RunCommand>(); }

}  // namespace stallprof
