// SPDX-License-Identifier: MIT
#include "tests/catch.h"
#include "tests/unit/analysis/text_trace.h"
#include "tests/unit/recording/sample_events.h"

using namespace stallprof;
using stallprof::test::only;

namespace {

std::string reasonOf(const std::string& text) {
  const Result<Trace> trace = parseTrace(text);
  REQUIRE(!trace.ok());
  return trace.error().message;
}

}  // namespace

TEST_CASE("a line of text becomes the event it names, with units and enumerators") {
  const Trace trace = test::traceOf(
      "1s process process=1 pid=100 comm=\"python3\"\n"
      "1s thread thread=1 process=1 tid=100\n"
      "1500ms slice thread=1 duration=12.5ms run=2ms wait=file_read what=\"/data/a b\"\n"
      "2s span thread=1 duration=3us phase=periodic source=mark name=\"say \\\"x\\\"\"\n");
  const Timed<ThreadSlice>& slice = only(only(trace.threads).slices);
  CHECK(slice.at == std::chrono::milliseconds(1500));
  CHECK(slice.data.duration == std::chrono::microseconds(12500));
  CHECK(slice.data.wait == Wait::kFileRead);
  CHECK(trace.text(slice.data.what) == "/data/a b");
  const PhaseSpan& span = only(trace.spans).data;
  CHECK(span.phase == Phase::kPeriodic);
  CHECK(trace.text(span.name) == "say \"x\"");
  CHECK(trace.processes.at(0).threads == std::vector<ThreadId>{ThreadId{1}});
}

TEST_CASE("a trace written as text and read again is written the same") {
  const std::string text =
      "manifest command=\"python\"\n"
      "manifest command=\"tr\\x0aain.py\"\n"
      "manifest hz=99.5\n"
      "manifest cores_usable=2\n"
      "manifest env=\"OMP_NUM_THREADS=1\"\n"
      "0 process process=1 pid=7 comm=\"p\\xff\"\n"
      "0 thread thread=1 process=1 tid=7\n"
      "5 fetch thread=1 loader=1 epoch=1 duration=10 end=1\n"
      "6 stack stack=1 function=\"<module>\" file=\"/a b/train.py\" line=31 first_line=1\n"
      "6 stack stack=2 caller=1 function=\"(truncated)\" kind=other\n"
      "6 stack_slice thread=1 duration=30 stack=2 samples=4 gil=waits gc=1\n"
      "6 loader process=1 loader=1 workers=2 in_order=0\n"
      "7 loss kind=disk_full count=18446744073709551615\n"
      "clean_end\n";
  CHECK(traceText(test::traceOf(text)) == text);
}

TEST_CASE("a trace as text has every kind of event that was in it") {
  EventList list;
  std::string text;
  std::vector<std::string> begins;  // "AT KIND "
  for (Event event : testing::oneOfEachKind(list)) {
    // Its own caller is no stack that a recording can hold.
    if (auto* stack = std::get_if<StackSeen>(&event.payload)) stack->caller = {};
    const std::string line = eventLine(event, list.strings);
    begins.push_back(line.substr(0, line.find(' ', line.find(' ') + 1) + 1));
    text += line + "\n";
  }
  const std::string again = traceText(test::traceOf(text));
  for (const std::string& begin : begins) {
    INFO(begin);
    CHECK(again.find(begin) != std::string::npos);
  }
}

TEST_CASE("repeat shifts times and grows values, round by round") {
  const Trace trace = test::traceOf(
      "repeat 3 every 20ms\n"
      "10ms fetch thread=1 batch=4+2*i duration=1ms+1ms*i  # later ones are slower\n"
      "end\n");
  REQUIRE(trace.fetches.size() == 3);
  CHECK(trace.fetches[2].at == std::chrono::milliseconds(50));
  CHECK(trace.fetches[2].data.batch == 8);
  CHECK(trace.fetches[2].data.duration == std::chrono::milliseconds(3));
}

TEST_CASE("what is not in the grammar is refused with its line") {
  CHECK(reasonOf("\n1s fetsch thread=1\n").find("line 2: no kind") == 0);
  CHECK(reasonOf("1s fetch thred=1\n").find("'thred' is no field of fetch") != std::string::npos);
  CHECK(reasonOf("1s fetch thread=-1\n").find("'-1' cannot be the thread") != std::string::npos);
  CHECK(reasonOf("1s fetch end=2\n").find("cannot be") != std::string::npos);
  CHECK(reasonOf("1s slice wait=nap\n").find("'nap' cannot be the wait") != std::string::npos);
  CHECK(reasonOf("1h fetch\n").find("is no time") != std::string::npos);
  CHECK(reasonOf("1s process comm=\"x\n").find("does not end") != std::string::npos);
  CHECK(reasonOf("1s fetch duration=99999999999999999999s\n").find("cannot") != std::string::npos);
  CHECK(reasonOf("repeat 2 every 1s\n1s fetch\n").find("repeat without end") == 0);
  CHECK(reasonOf("repeat 9999999 every 1s\n1s fetch\nend\n").find("too long") != std::string::npos);
  CHECK(reasonOf("end\n").find("end without repeat") != std::string::npos);
  CHECK(reasonOf("manifest colour=\"red\"\n").find("'colour'") != std::string::npos);
}
