// SPDX-License-Identifier: MIT
#include "trace/kineto.h"

#include <memory>

#include "tests/catch.h"
#include "trace/trace_builder.h"

using namespace stallprof;
using namespace std::chrono_literals;

namespace {

Result<KinetoTrace> read(const std::string& json) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file);
  REQUIRE(std::fwrite(json.data(), 1, json.size(), file.get()) == json.size());
  std::rewind(file.get());
  return readKineto(file.get());
}

struct Into final : EventOut {
  TraceBuilder builder;
  StringId intern(std::string_view text) override { return builder.strings().intern(text); }
  void put(const Event& event) override { builder.take(event); }
};

Trace import(const std::string& events, std::int32_t workers = 2) {
  const auto trace =
      read("{\"baseTimeNanoseconds\": 1767225600000000000,\n\"traceEvents\": [" + events + "]}");
  REQUIRE(trace.ok());
  Into into;
  replayKineto(trace.value(), workers, into);
  return into.builder.seal();
}

std::string slice(const std::string& category, const std::string& name, const std::string& at,
                  const std::string& duration, const std::string& args = "{}") {
  return "{\"ph\":\"X\",\"cat\":\"" + category + "\",\"name\":\"" + name +
         "\",\"pid\":100,\"tid\":100,\"ts\":" + at + ",\"dur\":" + duration + ",\"args\":" + args +
         "}";
}

std::string kernel(const std::string& at, const std::string& duration, int stream = 7) {
  return slice("kernel", "gemm", at, duration,
               "{\"device\":0,\"stream\":" + std::to_string(stream) +
                   ",\"correlation\":9,\"grid\":[4,2,1],\"block\":[256,1,1]}");
}

const std::string kNext = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

}  // namespace

TEST_CASE("a profiler's slices become the events of a recording, to the nanosecond") {
  const Trace trace =
      import(slice("user_annotation", kNext, "1000.500", "20.25") + "," +
             slice("cpu_op", "Optimizer.step#SGD.step", "1100", "5") + "," +
             slice("cpu_op", "aten::mm", "1050", "5") + "," +
             slice("cuda_runtime", "cudaLaunchKernel", "1050.125", "4", "{\"correlation\":9}") +
             "," + kernel("1060", "30"));
  REQUIRE(trace.fetches.size() == 1);
  CHECK(trace.fetches[0].data.duration == 20250ns);
  CHECK(trace.process(trace.thread(trace.fetches[0].data.thread).process).pid == 100);
  REQUIRE(trace.loaders.size() == 1);
  CHECK(trace.loaders[0].data.workers == 2);
  REQUIRE(trace.optimizerSteps.size() == 1);
  CHECK(trace.optimizerSteps[0].at - trace.fetches[0].at == 99500ns);
  REQUIRE(trace.deviceCalls.size() == 1);
  CHECK(trace.deviceCalls[0].at - trace.fetches[0].at == 49625ns);
  CHECK(trace.deviceCalls[0].data.kind == DeviceCallKind::kLaunch);
  REQUIRE(trace.deviceWorks.size() == 1);
  CHECK(trace.deviceWorks[0].data.correlation == 9);
  CHECK(trace.deviceWorks[0].data.stream == 7);
  CHECK(trace.deviceWorks[0].data.blocks == 8);
  CHECK(trace.deviceWorks[0].data.blockThreads == 256);
  REQUIRE(trace.deviceTraces.size() == 1);
  CHECK(trace.deviceTraces[0].data.each);
  REQUIRE(trace.ends.size() == 1);
  CHECK(trace.ends[0].data.exitCode == -1);
}

TEST_CASE("a loader with workers and one without are two, whichever comes first") {
  const std::string inProcess = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  const Trace trace = import(slice("user_annotation", inProcess, "900", "10") + "," +
                                 slice("user_annotation", kNext, "1000", "20") + "," +
                                 slice("user_annotation", kNext, "1100", "20"),
                             4);
  REQUIRE(trace.loaders.size() == 2);
  CHECK(trace.loaders[0].data.workers == 0);
  CHECK(trace.loaders[1].data.workers == 4);
  REQUIRE(trace.fetches.size() == 3);
  CHECK(trace.fetches[0].data.loader == trace.loaders[0].data.loader);
  CHECK(trace.fetches[2].data.loader == trace.loaders[1].data.loader);
  CHECK(trace.fetches[2].data.batch == 1);
}

TEST_CASE("a fetch after which nothing is given to the device ends an epoch") {
  const auto epoch = [](int at) {
    const auto when = [&](int after) { return std::to_string(at + after); };
    return slice("user_annotation", kNext, when(0), "20") + "," +
           slice("cuda_runtime", "cudaLaunchKernel", when(30), "4") + "," +
           slice("user_annotation", kNext, when(50), "20") + "," +
           slice("cuda_runtime", "cudaMemcpyAsync", when(55), "4") + "," +  // of its pinning
           slice("cuda_runtime", "cudaLaunchKernel", when(80), "4") + "," +
           slice("user_annotation", kNext, when(100), "1");
  };
  const Trace trace = import(epoch(1000) + "," + epoch(1200));
  std::vector<std::tuple<std::uint32_t, std::int64_t, bool>> seen;
  for (const auto& row : trace.fetches)
    seen.emplace_back(row.data.epoch, row.data.batch, row.data.end);
  using Seen = decltype(seen);
  // After the last one of the file nothing is known.
  CHECK(seen == Seen{{1, 0, false},
                     {1, 1, false},
                     {1, -1, true},
                     {2, 0, false},
                     {2, 1, false},
                     {2, 2, false}});
  // Two loaders by turns: zip().
  std::string both;
  for (int at = 1000; at < 1600; at += 100)
    both += (both.empty() ? "" : ",") + slice("user_annotation", kNext, std::to_string(at), "20") +
            "," + slice("user_annotation", kNext, std::to_string(at + 20), "20") + "," +
            slice("cuda_runtime", "cudaLaunchKernel", std::to_string(at + 50), "4");
  const Trace zipped = import(both);
  CHECK(std::none_of(zipped.fetches.begin(), zipped.fetches.end(),
                     [](const auto& row) { return row.data.end; }));
  const Trace onCpu = import(slice("user_annotation", kNext, "1000", "20") + "," +
                             slice("user_annotation", kNext, "1100", "20"));
  CHECK(!onCpu.fetches[0].data.end);  // what runs in between is not in it
}

TEST_CASE("a kernel that exchanges data is a collective, whichever library's it is") {
  const Trace trace =
      import(slice("kernel", "ncclDevKernel_AllReduce_Sum_f32", "100", "5") + "," +
             slice("kernel", "void vllm::cross_device_reduce_1stage<float, 2>()", "110", "5") +
             "," + kernel("120", "5"));
  REQUIRE(trace.deviceWorks.size() == 3);
  CHECK(trace.deviceWorks[0].data.kind == DeviceWorkKind::kCollective);
  CHECK(trace.deviceWorks[1].data.kind == DeviceWorkKind::kCollective);
  CHECK(trace.deviceWorks[2].data.kind == DeviceWorkKind::kKernel);
}

TEST_CASE("a device's time is the union over its streams, in spans apart by more than a gap") {
  const Trace trace =
      import(kernel("100", "50") + "," + kernel("120", "60", 8) + "," +  // 100 to 180
             slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "180", "10",
                   "{\"device\":0,\"stream\":7,\"bytes\":1000}") +
             "," +                       // alone until 190
             kernel("195", "5") + "," +  // 5 us of gap: the same span
             kernel("300", "10"));       // 100 us: another
  REQUIRE(trace.deviceSpans.size() == 2);
  const DeviceSpan& span = trace.deviceSpans[0].data;
  CHECK(span.duration == 100us);
  CHECK(span.busy == 95us);
  CHECK(span.copyOnly == 10us);
  CHECK(span.works == 4);
  CHECK(trace.deviceSpans[1].data.busy == 10us);
  REQUIRE(trace.deviceUses.size() == 2);
  std::uint64_t kernels = 0;
  for (const auto& use : trace.deviceUses)
    if (use.data.kind == DeviceWorkKind::kKernel) kernels += use.data.count;
  CHECK(kernels == 4);
}

TEST_CASE("long work is cut into spans, each nanosecond and each piece of work counted once") {
  const Trace trace = import(kernel("0", "200000", 8) + "," + kernel("0", "60000") + "," +
                             kernel("60000", "60000") + "," + kernel("120000", "60000"));
  REQUIRE(trace.deviceSpans.size() == 2);
  CHECK(trace.deviceSpans[0].data.busy == 120ms);
  CHECK(trace.deviceSpans[0].data.works == 3);
  CHECK(trace.deviceSpans[1].at == trace.deviceSpans[0].end());
  CHECK(trace.deviceSpans[1].data.busy == 80ms);
  CHECK(trace.deviceSpans[1].data.works == 1);
}

TEST_CASE("a trace without a date has none") {
  const auto dated = [](const std::string& head) {
    const auto trace = read("{" + head + "\"traceEvents\": [" + kernel("1000", "5") + "]}");
    REQUIRE(trace.ok());
    return manifestOf(trace.value(), "trace.json").startedRealtime;
  };
  CHECK(dated("") == Nanos(0));
  CHECK(dated("\"baseTimeNanoseconds\": 1767225600000000000, ") == 1767225600s + 1ms);
}

TEST_CASE("times since 1970 keep their nanoseconds") {
  const Trace trace =
      import(kernel("1767225600123456.125", "1") + "," + kernel("1767225600123500.250", "1"));
  REQUIRE(trace.deviceWorks.size() == 2);
  CHECK(trace.deviceWorks[1].at - trace.deviceWorks[0].at == 44125ns);
}

TEST_CASE("a base time that no clock has is left out") {
  const auto trace = read("{\"baseTimeNanoseconds\": 9223372036854775807,\n\"traceEvents\": [" +
                          slice("cpu_op", "Optimizer.step#SGD.step", "1000.5", "5") + "]}");
  REQUIRE(trace.ok());
  CHECK(trace.value().base == Nanos(0));
  CHECK(manifestOf(trace.value(), "trace.json").startedRealtime >= Nanos(0));
}

TEST_CASE("a slice that ends later than any clock goes is left out") {
  const std::string last = "4503599627370496";  // us: the greatest time that is read
  const Trace trace = import(kernel("-" + last, "1") + "," + kernel(last, last) + "," +
                             slice("cuda_runtime", "cudaLaunchKernel", last, "1"));
  REQUIRE(trace.deviceWorks.size() == 1);
  CHECK(trace.deviceWorks[0].data.duration == 1us);
  CHECK(trace.deviceCalls.empty());
}

TEST_CASE("what is no profiler's trace is an error, and bytes do no harm") {
  CHECK_FALSE(read("").ok());
  CHECK_FALSE(read("hello").ok());
  CHECK_FALSE(read("{}").ok());
  CHECK_FALSE(read("[]").ok());
  CHECK(read("[{\"name\": \"aten::add\"}]").error().message.find("bare list") != std::string::npos);
  CHECK_FALSE(read("{\"traceEvents\": []}").ok());
  CHECK_FALSE(read("{\"traceEvents\": [" + kernel("1", "1")).ok());
  CHECK_FALSE(read(std::string(100'000, '[')).ok());
  CHECK_FALSE(read("{\"traceEvents\": [" + kernel("1e30", "1") + "]}").ok());
  CHECK_FALSE(read("{\"traceEvents\": [" + kernel("1", "-1") + "]}").ok());
  CHECK_FALSE(read("{\"traceEvents\": [" + kernel("-9223372036854775808", "1") + "]}").ok());
  const std::string whole =
      "{\"deviceProperties\": [{\"id\": 0, \"name\": \"x\"}], "
      "\"distributedInfo\": {\"rank\": 3}, \"traceEvents\": [" +
      kernel("1", "1") + "]}";
  REQUIRE(read(whole).ok());
  CHECK(read(whole).value().rank == 3);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string cut = whole;
    cut[i] = static_cast<char>(cut[i] ^ 1);
    (void)read(cut);
  }
}
