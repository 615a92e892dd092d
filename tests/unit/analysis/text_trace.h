// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/text_form/trace_form.h"

// Traces as a reader can check them by hand: the text form of trace_text.h.
namespace stallprof::test {

inline Trace traceOf(const std::string& text) {
  Result<Trace> trace = parseTrace(text);
  INFO((trace.ok() ? std::string() : trace.error().message));
  REQUIRE(trace.ok());
  return std::move(trace).value();
}

// The one row of a list; the test fails where there are none or several.
template <class T>
const T& only(const std::vector<T>& rows) {
  REQUIRE(rows.size() == 1);
  return rows[0];
}

// A training process: number 1, and its only thread, number 1.
inline const std::string kTrainer =
    "0 process process=1 pid=100 comm=\"python3\"\n"
    "0 thread thread=1 process=1 tid=100 name=\"python3\"\n";

// Its first worker: process 2, thread 2.
inline const std::string kWorker =
    "0 process process=2 parent=1 pid=102 comm=\"pt_data_worker\"\n"
    "0 thread thread=2 process=2 tid=102 name=\"pt_data_worker\"\n";

// A program without an interpreter, /opt/NAME, and its only thread, of which native code is
// sampled.
inline std::string nativeProgram(const std::string& name) {
  return "0 process process=1 pid=100 comm=\"" + name + "\" exe=\"/opt/" + name +
         "\"\n0 thread thread=1 process=1 tid=100 name=\"" + name +
         "\"\n0 source source=\"native_samples\" state=full\n";
}

}  // namespace stallprof::test
