// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/analyze.h"

// What a page draws beside the analysis: steps, two of them in full, series over time, files and
// stacks. Bounded whatever the length of the run. Pure: drawn from a trace and its facts.
namespace stallprof {

// What a drawn thing is, and so its colour: one meaning, one colour, everywhere.
enum class Hue : std::uint8_t {
  kCompute,
  kWait,  // the trainer waits for data
  kLoad,
  kExtract,
  kTransform,
  kSync,
  kComm,
  kPeriodic,
  kOther,
  kUnknown,
  kFirst,  // series that are no phase: three neutral shades
  kSecond,
  kThird,
};
[[nodiscard]] std::string_view nameOf(Hue hue);  // the style's class
[[nodiscard]] Hue hueOf(Phase phase);

// One step, or the median one of several neighbours.
struct StripBar {
  std::size_t first = 0, last = 0;  // steps it stands for, by number
  Nanos low{}, middle{}, high{};
  Split split;
};

struct SlowStep {
  std::size_t index = 0;
  Nanos duration{};
  Hue hue = Hue::kOther;  // where most of it went
  Nanos maximum{};
  std::string why;  // "waiting for transform", in words
};

struct Strip {
  std::vector<StripBar> bars;
  std::vector<SlowStep> slowest;  // of the window, slowest first
  std::size_t steps = 0, warmup = 0;
  std::size_t joined = 0;  // of the steps, those that are only in sums
  Nanos median{};          // of plainSteps
  Nanos top{};             // of the axis
  std::size_t above = 0;   // steps longer than that
};

// An interval of a lane, in its view's time.
struct Block {
  Nanos begin{}, end{};
  Hue hue = Hue::kOther;
  std::string name;      // may be shown in it
  bool awaited = false;  // the batch of the step that is shown
};

struct Lane {
  std::string name, note;
  std::vector<Block> blocks;  // by time, none over another
};

// One step as every thread that had to do with it spent it.
struct StepView {
  std::size_t index = 0;
  Nanos begin{}, end{};  // the step
  Nanos from{}, to{};    // what is shown
  Split split;
  std::string note;
  std::vector<Lane> lanes;
  std::size_t hiddenLanes = 0;
};

struct Series {
  std::string name;
  Hue hue = Hue::kFirst;
  std::vector<double> values;  // one a bucket; not finite: not measured
};

struct Panel {
  enum class Unit : std::uint8_t {
    kCores,
    kBytes,
    kBytesPerSecond,
    kBatches,
    kPercent,
    kWatts,
    kMegahertz
  };
  std::string title, note = {};
  Unit unit = Unit::kCores;
  bool stacked = false;
  std::vector<Series> series = {};
  Maybe<double> limit = {};  // a line across: what there is
  std::string limitName = {};
};

struct TimeAxis {
  Nanos begin{}, end{};
  std::size_t buckets = 0;
  std::vector<std::pair<double, double>> marked;  // epochs, as parts of the axis
};

struct FileRow {
  std::string path, mount, type;
  std::uint64_t waits = 0;
  std::int64_t size = -1;
};

// A function in a stack, by what it lies on.
struct FlameFrame {
  std::string name, place;  // function; "PIL/Image.py"
  Hue hue = Hue::kOther;    // of the phase that most samples below it are labelled with
  bool users = false;       // the user's own code
  int depth = 0;
  double begin = 0, width = 0;  // parts of all samples of the threads of its flame
};

struct Flame {
  std::string title;
  std::uint64_t samples = 0;
  std::vector<FlameFrame> frames;  // depth-first
  int depth = 0;
};

struct Picture {
  Strip strip;
  Maybe<StepView> median, worst;
  TimeAxis time;
  std::vector<Panel> panels;
  std::vector<FileRow> files;  // most waited for first
  std::size_t moreFiles = 0;
  std::vector<Flame> flames;
};

[[nodiscard]] Picture draw(const Trace& trace, const Analyzed& analyzed, const RuleTable& rules);

// The parts of it, one a file.
// Those of the window that are neither the first or last of an epoch nor hold a checkpoint or the
// like, as for steps.time_ns; all of the window where there is no such step.
[[nodiscard]] std::vector<std::size_t> plainSteps(const TrainerFacts& trainer);
// `median`: the report's, where it has one: of steps that are several batches it is another than
// that of single batches.
[[nodiscard]] Strip drawStrip(const TrainerFacts& trainer, Maybe<Nanos> median = {});
[[nodiscard]] StepView drawStep(const Trace& trace, const TrainerFacts& trainer, std::size_t index);
void drawPanels(const Trace& trace, const Analyzed& analyzed, Picture& picture);
// Of the job's devices together; of all that were seen where nothing says which those are.
[[nodiscard]] std::vector<Panel> drawDevicePanels(const Trace& trace, const TrainerFacts& trainer,
                                                  const TimeAxis& axis);
// What the trainer's devices did in [from, to).
[[nodiscard]] std::vector<Lane> deviceLanes(const Trace& trace, const TrainerFacts& trainer,
                                            Nanos from, Nanos to);
void drawFiles(const Trace& trace, Picture& picture);
[[nodiscard]] std::vector<Flame> drawFlames(const Trace& trace, const Analyzed& analyzed,
                                            const RuleTable& rules);

}  // namespace stallprof
