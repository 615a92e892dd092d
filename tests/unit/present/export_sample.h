// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "present/timeline/chrome_trace.h"
#include "tests/catch.h"
#include "tests/trace_check/trace_check.h"
#include "tests/unit/analysis/text_trace.h"

// Recordings and helpers shared by the tests of the timeline exports.
namespace stallprof::samples {

using test::traceOf;

inline std::string goldenText(const std::string& name) {
  std::ifstream file(std::string(STALLPROF_TESTS_DIR) + "/golden/" + name + "/trace.txt");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> goldens() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STALLPROF_TESTS_DIR) + "/golden"))
    if (std::filesystem::exists(entry.path() / "trace.txt"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The text with every `from` in it replaced, of which there must be some.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Steps with a kernel every 200 us; of one second every kernel and its launch is recorded. Steps 48
// to 71 lie in it: T = 1.1 s + 40 ms * i, kernels from T + 100 us on.
inline std::string everyKernel() {
  const std::string device = "device=\"GPU-11111111-2222-3333-4444-555555555555\" process=1";
  return goldenText("gpu_launch_bound") +
         "3s device_trace process=1 duration=1s kernels=1 calls=1 each=1\n"
         "repeat 5000 every 200us\n"
         "3000080us device_call thread=1 process=1 duration=10us kind=launch "
         "name=\"cudaLaunchKernel\" correlation=1+1*i\n"
         "3000100us device_work " +
         device +
         " duration=50us kind=kernel "
         "name=\"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"
         "St5arrayIPcLm3EEEEviT0_T1_\" stream=7 context=1 correlation=1+1*i blocks=64 "
         "block_threads=256\n"
         "end\n"
         "repeat 25 every 40ms\n"
         "3000120us device_call thread=1 process=1 duration=5us kind=copy "
         "name=\"cudaMemcpyAsync\" correlation=100001+1*i\n"
         "3000160us device_work " +
         device +
         " duration=20us kind=to_device stream=0 correlation=100001+1*i bytes=1000000 "
         "memory=pageable\n"
         "end\n";
}

// Names that end a string, colour a terminal, turn the reading direction or are no UTF-8, wherever
// a recording can hold a name.
inline std::string hostileText() {
  const std::string bad =
      "\\\"},{\\\"x\\x1b[31m</script>\\xe2\\x80\\xae\\x00\\xff\\xc2\\x9b\\x0d\\x0a=1+1";
  std::string text = goldenText("too_few_workers");
  text += "1s process process=9 pid=999 comm=\"" + bad + "\" command=\"" + bad + "\"\n";
  text += "1s framework process=1 name=\"" + bad + "\" version=\"" + bad + "\"\n";
  text += "3s span thread=1 duration=1ms phase=periodic source=hook name=\"" + bad + "\" file=\"" +
          bad + "\"\n";
  text += "1s thread thread=9 process=1 tid=199 name=\"" + bad + "\"\n";
  text += "4s range thread=9 duration=5ms name=\"" + bad + "\" domain=\"" + bad + "\" category=\"" +
          bad + "\"\n";
  text += "1s device device=\"" + bad + "\" name=\"" + bad + "\" process=1 ordinal=0\n";
  text += "4s device_work device=\"" + bad + "\" process=1 duration=1ms kind=kernel name=\"" + bad +
          "\" stream=7\n";
  return text;
}

// The bytes that no sink may write as they are: controls, their UTF-8 forms, bidirectional marks.
inline std::string rawControls(const std::string& out, const std::string& allowed) {
  std::string found;
  for (const char c : out)
    if ((static_cast<unsigned char>(c) < 0x20 || c == 0x7f) && allowed.find(c) == std::string::npos)
      found += std::to_string(static_cast<int>(c)) + " ";
  if (out.find("\xe2\x80\xae") != std::string::npos) found += "U+202E ";
  if (out.find("\xc2\x9b") != std::string::npos) found += "U+009B ";
  if (out.find('\xff') != std::string::npos) found += "0xff ";
  return found;
}

struct Drawn {
  std::string text;
  TraceWritten written;
};

// A recording and what is found in it, worked out once for all tests: unoptimized and under the
// sanitizers that takes longer than what they draw of it.
struct Sample {
  Trace trace;
  Analyzed analyzed;
};
inline const Sample& sampleOf(const std::string& text) {
  static std::map<std::string, std::unique_ptr<Sample>> made;
  std::unique_ptr<Sample>& sample = made[text];
  if (!sample) {
    sample = std::make_unique<Sample>(Sample{traceOf(text), {}});
    sample->analyzed = analyzeWithFacts(sample->trace);
  }
  return *sample;
}

using TimelineWriter = TraceWritten (*)(const Trace&, const Analyzed&, const TimelineOptions&,
                                        const WriteBytes&);

inline Drawn drawWith(TimelineWriter writer, const Sample& of,
                      const TimelineOptions& options = {}) {
  Drawn drawn;
  drawn.written = writer(of.trace, of.analyzed, options, [&](std::string_view bytes) {
    drawn.text += bytes;
    return true;
  });
  return drawn;
}

inline TraceCheck check(const std::string& bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file);
  REQUIRE(std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size());
  std::rewind(file.get());
  return checkTrace(file.get());
}

inline std::string firstProblem(const TraceCheck& c) {
  return c.problems.empty() ? std::string() : c.problems.front();
}

// The trace of every golden recording, whole and bounded, passes the check. `more` checks what is
// of one format alone.
template <class More>
void checkGoldens(TimelineWriter writer, const char* format, More more) {
  REQUIRE(goldens().size() > 20);
  for (const std::string& name : goldens()) {
    INFO(name);
    const Sample& sample = sampleOf(goldenText(name));
    for (const std::uint64_t maximum : {100u, 400'000u}) {
      TimelineOptions options;
      options.maximum = maximum;
      const Drawn drawn = drawWith(writer, sample, options);
      CHECK(drawn.written.bytes == drawn.text.size());
      const TraceCheck found = check(drawn.text);
      CHECK(firstProblem(found) == "");
      CHECK(found.format == format);
      more(drawn, found);
    }
  }
}

inline std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace stallprof::samples
