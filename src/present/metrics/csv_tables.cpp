// SPDX-License-Identifier: MIT
#include "present/metrics/csv_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/describe/describe.h"
#include "base/text.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongestCell = 2000;  // bytes of text

// Spreadsheets run a cell that begins so (OWASP, "CSV Injection"); an apostrophe makes it text.
constexpr std::string_view kFormula = "=+-@";

std::string textCell(std::string_view bytes) {
  if (bytes.empty()) return {};
  std::string out = "\"";
  const std::string text = escapeTerminal(bytes, kLongestCell);
  if (kFormula.find(text.front()) != std::string_view::npos) out += '\'';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string numberCell(const Maybe<double>& value) {
  if (!value || !std::isfinite(*value)) return {};
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", *value);
  return text;
}

std::string lineCell(const SourceLine& place) {
  return place.line == 0 ? std::string() : std::to_string(place.line);
}

std::string row(std::initializer_list<std::string> cells) {
  std::string out;
  for (const std::string& cell : cells) {
    if (&cell != cells.begin()) out += ',';
    out += cell;
  }
  return out + "\r\n";
}

constexpr std::string_view kStepsHead =
    "pid,step,epoch,batch,worker,ready,warmup,boundary,begin_ns,wall_ns,compute_ns,data_wait_ns,"
    "load_ns,sync_ns,comm_ns,periodic_ns,other_ns,blame_extract_ns,blame_transform_ns,"
    "blame_load_ns,blame_startup_ns,blame_unknown_ns,hidden_wait_ns,cpu_ns,starved_ns\r\n";

// Who made which batch.
class Makers {
 public:
  explicit Makers(const TrainerFacts& trainer) {
    makers_.reserve(trainer.works.size());
    for (const BatchWork& work : trainer.works)
      makers_.emplace_back(work.epoch, work.batch, work.worker);
    std::sort(makers_.begin(), makers_.end());
  }
  [[nodiscard]] std::int32_t of(const Step& step) const {
    const auto at = std::lower_bound(makers_.begin(), makers_.end(),
                                     std::tuple(step.epoch, step.batch, std::int32_t{-1}));
    const bool found =
        at != makers_.end() && std::get<0>(*at) == step.epoch && std::get<1>(*at) == step.batch;
    return found ? std::get<2>(*at) : -1;
  }

 private:
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::int32_t>> makers_;
};

void addNumber(std::string& out, std::int64_t value) { out += ',' + std::to_string(value); }

// Below zero: not known.
void addKnown(std::string& out, std::int64_t value) {
  out += ',';
  if (value >= 0) out += std::to_string(value);
}

void writeSteps(const Trace& trace, const TrainerFacts& trainer, ByteStream& out) {
  const Makers makers(trainer);
  const std::map<std::uint32_t, std::int64_t> epochs = epochNumbers(trainer);
  const bool sampled = trainer.cpu + trainer.starved > Nanos{};
  const std::string pid = std::to_string(trace.process(trainer.process).pid);
  std::string line;
  for (std::size_t i = 0; i < trainer.steps.size(); ++i) {
    const Step& s = trainer.steps[i];
    line = pid;
    addNumber(line, s.number);
    const auto epoch = epochs.find(s.epoch);
    for (const std::int64_t n : {epoch == epochs.end() ? -1 : epoch->second, s.batch,
                                 std::int64_t{makers.of(s)}, std::int64_t{s.ready}})
      addKnown(line, n);
    addNumber(line, i < trainer.warmup ? 1 : 0);
    addNumber(line, s.boundary ? 1 : 0);
    for (const Nanos time :
         {s.begin - trace.begin, s.end - s.begin, s.split.compute, s.split.wait, s.split.load,
          s.split.sync, s.split.comm, s.split.periodic, s.split.other, s.blame.extract,
          s.blame.transform, s.blame.load, s.blame.startup, s.blame.unknown})
      addNumber(line, time.count());
    addKnown(line, trainer.device.timeline ? s.split.hidden.count() : -1);
    for (const Nanos time : {s.cpu, s.starved}) addKnown(line, sampled ? time.count() : -1);
    out << line << "\r\n";
  }
}

}  // namespace

bool writeStepsCsv(const Trace& trace, const Analyzed& analyzed, const WriteBytes& write) {
  ByteStream out(write);
  out << kStepsHead;
  for (const TrainerIdentity& who : analyzed.roles.trainers)
    if (who.process == analyzed.trainer.process)
      writeSteps(trace, analyzed.trainer, out);
    else
      writeSteps(trace, analyzed.factsOf(trace, who), out);
  return out.flush();
}

std::string findingsCsv(const Analysis& analysis) {
  std::string out =
      "rank,id,phase,share_ratio,within,confidence,title,file,line,function,hot_file,hot_line,"
      "hot_function,advice,change,from,to,predicted_speedup,predicted_low,predicted_high,"
      "predicted_basis,measured_speedup,measured_low,measured_high,outcome\r\n";
  for (const Finding& f : analysis.findings) {
    const Advice advice = f.advice.empty() ? Advice{} : f.advice.front();
    out += row({std::to_string(f.rank),
                textCell(f.id),
                textCell(nameOf(f.phase)),
                numberCell(f.shareRatio),
                textCell(f.within.value_or("")),
                textCell(nameOf(f.confidence)),
                textCell(f.title),
                textCell(f.where.file.raw()),
                lineCell(f.where),
                textCell(f.where.function.raw()),
                textCell(f.hot.file.raw()),
                lineCell(f.hot),
                textCell(f.hot.function.raw()),
                textCell(advice.text),
                textCell(advice.change.name),
                textCell(advice.change.from),
                textCell(advice.change.to),
                numberCell(advice.predicted.speedup),
                numberCell(advice.predicted.low),
                numberCell(advice.predicted.high),
                textCell(advice.predicted.speedup ? nameOf(advice.predicted.basis) : ""),
                numberCell(advice.measured),
                numberCell(advice.measuredLow),
                numberCell(advice.measuredHigh),
                textCell(advice.outcome)});
  }
  return out;
}

}  // namespace stallprof
