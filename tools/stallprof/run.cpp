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
        "Records a command and prints a report: stallprof run [options] [--] COMMAND [ARG...]. "
        "Options come before the command.");
    declareRecording(app);
    addRepeated(app, "--map", map_, kMapHelp);
    addParsed(app, "--progress",
              "print progress lines on stderr: auto (default: each minute, if stderr is not a "
              "terminal), off, or the interval in seconds",
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
        "count CPU events (cycles, cache misses, stalls) and opened files of the whole job");
    app.add_flag(
        "--gpu{whole}", gpu_,
        "trace CUDA and NVTX from inside the command; --gpu=windows: only where tracing can begin "
        "at an update (PyTorch, one device), in windows of a second if it costs over 2 %");
    app.add_flag(
        "--nvtx", options_.nvtx,
        "record the command's NVTX ranges, without tracing CUDA; --gpu and --map imply it");
  }

  void parse(CLI::App& app, const std::vector<std::string>& words) override {
    options_.command = parseOptionsBefore(app, words);
    // Options of a configuration file that need another one apply only with it.
    Overrides& overrides = options_.overrides;
    const bool changes = !set_.empty() || !replay_.empty() || !drain_.empty();
    if (app.count("--loader") == 0 && !changes) overrides.loaderAt.clear();
    if (app.count("--count-from") == 0 && !overrides.ends() && drain_.empty()) countFrom_.clear();
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
    constexpr unsigned kMaxThreads = 4096;  // more than any host has: a slip of the finger
    addRepeated(app, "--set", set_,
                "change an argument of the program's PyTorch DataLoader (NAME=VALUE, repeatable), "
                "without a change to its code: num_workers, prefetch_factor, persistent_workers, "
                "pin_memory, in_order; for tf.data: num_parallel_calls, prefetch, "
                "private_threadpool_size; for a Keras PyDataset: workers, max_queue_size; for the "
                "program's PyTorch optimizers: fused");
    addText(app, "--loader", overrides.loaderAt,
            "FILE:LINE of the loader that --set changes, as in the report (default: every loader "
            "of the program)");
    addWhole(app, "--threads", {1, kMaxThreads, "a whole number from 1 to 4096"},
             "threads of each native thread pool of the program: PyTorch, OpenMP, MKL, OpenBLAS, "
             "OpenCV",
             [&overrides](unsigned threads) { overrides.threads = threads; });
    addText(app, "--allocator", allocator_,
            "the command's memory allocator: keep (the C library's, which then keeps freed "
            "memory), jemalloc, tcmalloc, mimalloc, or the path of a library");
    app.add_flag("--replay{10}", replay_,
                 "repeat the first N batches (--replay=N, at least 10; default 10), to measure the "
                 "pace with data always ready");
    app.add_flag("--drain{20}", drain_,
                 "run only the loader for SECONDS (--drain=SECONDS; default 20), then end the "
                 "program, to measure the pace of its data");
    count("--steps", overrides.steps, "send SIGTERM to the command after N steps");
    count("--for", overrides.seconds, "send SIGTERM to the command SECONDS after its first step");
    addChoice(app, "--count-from", countFrom_, {"batch", kFromUpdate},
              "start of the count of --steps and --for: batch, the first batch of any loader "
              "(default), or optimizer-step, the first update of the model; with --drain: batch, "
              "run any loader, or optimizer-step, run one that is read with gradients enabled");
    addRepeated(app, "--env", overrides.env,
                "set an environment variable of the command (NAME=VALUE, repeatable)");
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
    if (overrides.replay > 0 && overrides.drain > 0)
      return "--replay and --drain cannot be combined";
    if ((overrides.needHook() || overrides.threads > 0 || overrides.ends()) && !options_.python)
      return "--set, --threads, --replay, --drain, --steps and --for need the hook and cannot be "
             "combined with --no-python";
    overrides.fromUpdate = countFrom_ == kFromUpdate;
    if (overrides.fromUpdate && !overrides.ends() && overrides.drain == 0)
      return "--count-from needs --steps, --for or --drain";
    if (!overrides.loaderAt.empty() && !overrides.needHook())
      return "--loader needs --set, --replay or --drain";
    return "";
  }

  std::string checkGpu() {
    if (gpu_ == "whole") options_.gpu = GpuTracing::kWhole;
    if (gpu_ == "windows") options_.gpu = GpuTracing::kWindows;
    if (gpu_.empty() || options_.gpu != GpuTracing::kOff) return "";
    return "--gpu takes nothing, whole or windows, not " + inQuotes(gpu_);
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
