// SPDX-License-Identifier: MIT
// What NVIDIA's monitoring library answers on this machine, call by call: code, value, time. To be
// run by hand where there is a GPU, best beside something that uses it:
//   BUILD/bin/nvml_probe [SECONDS] [LIBRARY]
// Changes no setting. The first part calls each entry point once for each device, the second
// samples the devices as a run does, for SECONDS (5), and prints what that cost.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "sampler/nvml/nvml_api.h"

using namespace stallprof;
namespace nv = stallprof::nvml;

namespace {

double clockSeconds(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Cost {
  unsigned calls = 0;
  double wall = 0, cpu = 0, maximum = 0;
};
std::map<std::string, Cost> costs;

// Calls, and prints the code and the microseconds of wall and CPU.
template <class Call>
int timed(const char* name, bool report, Call&& call) {
  const double wall = clockSeconds(CLOCK_MONOTONIC), cpu = clockSeconds(CLOCK_THREAD_CPUTIME_ID);
  const int code = call();
  const double took = (clockSeconds(CLOCK_MONOTONIC) - wall) * 1e6;
  const double used = (clockSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e6;
  Cost& cost = costs[name];
  ++cost.calls;
  cost.wall += took;
  cost.cpu += used;
  cost.maximum = std::max(cost.maximum, took);
  if (report) std::printf("  %-34s code %-3d %9.1f us (cpu %8.1f)", name, code, took, used);
  return code;
}
void end() { std::printf("\n"); }

template <class F, class... Arguments>
int ask(const char* name, F function, Arguments... arguments) {
  if (function == nullptr) {
    std::printf("  %-34s not exported", name);
    return nv::kFunctionNotFound;
  }
  return timed(name, true, [&] { return function(arguments...); });
}

void showFields(const nv::Api& api, nv::Device device) {
  const std::uint32_t ids[] = {74, 75, 83, 90, 91, 185, 186, 191, 197, 198, 269, 270, 271};
  std::vector<nv::FieldValue> values(std::size(ids));
  for (std::size_t i = 0; i < values.size(); ++i) values[i].field = ids[i];
  if (ask("fields", api.fields, device, static_cast<int>(values.size()), values.data()) ==
      nv::kSuccess)
    for (const auto& v : values)
      std::printf("\n      field %u code %d type %d value %.0f latency %lld us", v.field, v.code,
                  static_cast<int>(v.type), nv::numberOf(v.type, v.value),
                  static_cast<long long>(v.latency));
  end();
  for (auto& v : values) {
    if (api.fields == nullptr) break;
    const auto id = v.field;
    v = {};
    v.field = id;
    if (timed("one field", true, [&] { return api.fields(device, 1, &v); }) == nv::kSuccess)
      std::printf(" field %u: code %d", v.field, v.code);
    end();
  }
}

template <class F>
void showProcesses(const char* name, F function, nv::Device device) {
  alignas(8) unsigned char bytes[64 * 32] = {};
  unsigned count = 64;
  const int code = ask(name, function, device, &count, static_cast<void*>(bytes));
  std::printf(" count %u; own pid %d; bytes:", count, static_cast<int>(::getpid()));
  if (code == nv::kSuccess && count > 0)
    for (unsigned i = 0; i < std::min(count, 4u) * 32; ++i)
      std::printf("%s%02x", i % 8 == 0 ? " " : "", bytes[i]);
  end();
}

void showGpm(const nv::Api& api, nv::Device device) {
  nv::GpmSupport support{nv::kGpmVersion, 0};
  const int code = ask("gpmSupport", api.gpmSupport, device, &support);
  std::printf(" supported %u", support.supported);
  end();
  if (code != nv::kSuccess || api.gpmAlloc == nullptr) return;
  nv::GpmMetrics metrics{};
  bool all = ask("gpmAlloc", api.gpmAlloc, &metrics.first) == nv::kSuccess;
  end();
  all = ask("gpmAlloc", api.gpmAlloc, &metrics.second) == nv::kSuccess && all;
  end();
  if (!all) return;
  (void)ask("gpmSample", api.gpmSample, device, metrics.first);
  end();
  for (const useconds_t gap : {20'000u, 120'000u, 500'000u}) {
    ::usleep(gap);
    (void)ask("gpmSample", api.gpmSample, device, metrics.second);
    std::printf(" %u ms after the first's", gap / 1000);
    end();
    const std::uint32_t ids[] = {1, 2, 3, 5, 7, 10, 12, 13, 20, 21, 60, 61};
    metrics.version = nv::kGpmVersion;
    metrics.count = std::size(ids);
    for (std::size_t i = 0; i < std::size(ids); ++i) metrics.metrics[i] = {ids[i], 0, -1, 0, 0, 0};
    (void)ask("gpmMetrics", api.gpmMetrics, &metrics);
    for (std::size_t i = 0; i < std::size(ids); ++i)
      std::printf("\n      metric %u code %d value %.4f %s %s", metrics.metrics[i].id,
                  metrics.metrics[i].code, metrics.metrics[i].value,
                  metrics.metrics[i].shortName ? metrics.metrics[i].shortName : "-",
                  metrics.metrics[i].unit ? metrics.metrics[i].unit : "-");
    end();
  }
}

void showDevice(const nv::Api& api, unsigned index, nv::Device device) {
  char text[128] = {};
  (void)ask("uuid", api.uuid, device, text, 96u);
  std::printf(" %s", text);
  end();
  (void)ask("name", api.name, device, text, 96u);
  std::printf(" %s (index %u)", text, index);
  end();
  int major = -1, minor = -1;
  (void)ask("capability", api.capability, device, &major, &minor);
  std::printf(" %d.%d", major, minor);
  end();
  nv::Attributes attributes{};
  (void)ask("attributes", api.attributes, device, &attributes);
  std::printf(" sms %u memory %llu MiB", attributes.multiprocessors,
              static_cast<unsigned long long>(attributes.memoryMib));
  end();
  unsigned a = 0, b = 0;
  (void)ask("migMode", api.migMode, device, &a, &b);
  std::printf(" current %u pending %u", a, b);
  end();
  (void)ask("migCount", api.migCount, device, &a);
  std::printf(" %u", a);
  end();
  nv::Memory memory{};
  (void)ask("memory", api.memory, device, &memory);
  std::printf(" total %llu used %llu", static_cast<unsigned long long>(memory.total),
              static_cast<unsigned long long>(memory.used));
  end();
  nv::MemoryV2 memory2{nv::kMemoryV2, 0, 0, 0, 0};
  (void)ask("memoryV2", api.memoryV2, device, &memory2);
  std::printf(" total %llu reserved %llu used %llu", static_cast<unsigned long long>(memory2.total),
              static_cast<unsigned long long>(memory2.reserved),
              static_cast<unsigned long long>(memory2.used));
  end();
  nv::Utilization utilization{};
  (void)ask("utilization", api.utilization, device, &utilization);
  std::printf(" gpu %u %% memory %u %%", utilization.gpu, utilization.memory);
  end();
  (void)ask("power", api.power, device, &a);
  std::printf(" %u mW", a);
  end();
  unsigned long long wide = 0;
  (void)ask("energy", api.energy, device, &wide);
  std::printf(" %llu mJ", wide);
  end();
  for (const int type : {0, 1, 2}) {
    (void)ask("clock", api.clock, device, type, &a);
    std::printf(" type %d: %u MHz", type, a);
    end();
    (void)ask("maxClock", api.maxClock, device, type, &a);
    std::printf(" type %d: %u MHz", type, a);
    end();
  }
  (void)ask("temperature", api.temperature, device, 0, &a);
  std::printf(" %u C", a);
  end();
  (void)ask("clockReasons", api.clockReasons, device, &wide);
  std::printf(" 0x%llx", wide);
  end();
  showFields(api, device);
  showProcesses("processes", api.processes, device);
  showProcesses("mpsProcesses", api.mpsProcesses, device);
  nv::ProcessSample samples[64] = {};
  a = 64;
  (void)ask("processSamples", api.processSamples, device, samples, &a, 0ull);
  std::printf(" count %u", a);
  for (unsigned i = 0; i < std::min(a, 4u); ++i)
    std::printf(" pid %u sm %u", samples[i].pid, samples[i].sm);
  end();
  showGpm(api, device);
}

void sample(const nv::Api& api, nv::Device device, nv::GpmMetrics& gpm, unsigned turn) {
  if (api.utilization == nullptr || api.memoryV2 == nullptr || api.clock == nullptr ||
      api.temperature == nullptr || api.clockReasons == nullptr || api.fields == nullptr)
    return;  // older than R515
  unsigned value = 0;
  unsigned long long wide = 0;
  nv::MemoryV2 memory{nv::kMemoryV2, 0, 0, 0, 0};
  nv::Utilization utilization{};
  timed("utilization", false, [&] { return api.utilization(device, &utilization); });
  timed("memoryV2", false, [&] { return api.memoryV2(device, &memory); });
  timed("clock", false, [&] { return api.clock(device, nv::kSmClock, &value); });
  timed("temperature", false, [&] { return api.temperature(device, 0, &value); });
  timed("clockReasons", false, [&] { return api.clockReasons(device, &wide); });
  nv::FieldValue fields[8] = {};
  const std::uint32_t ids[] = {74, 83, 186, 197, 198, 269, 270, 271};
  for (std::size_t i = 0; i < 8; ++i) fields[i].field = ids[i];
  timed("eight fields", false, [&] { return api.fields(device, 8, fields); });
  std::printf("  %2u: util %u %%, rx %.0f tx %.0f, used %llu MiB", turn, utilization.gpu,
              nv::numberOf(fields[4].type, fields[4].value),
              nv::numberOf(fields[3].type, fields[3].value),
              static_cast<unsigned long long>(memory.used >> 20));
  if (gpm.first != nullptr) {
    timed("gpmSample", false, [&] { return api.gpmSample(device, gpm.second); });
    gpm.version = nv::kGpmVersion;
    gpm.count = 6;
    const std::uint32_t metrics[] = {2, 3, 5, 10, 20, 21};
    for (std::size_t i = 0; i < 6; ++i) gpm.metrics[i] = {metrics[i], 0, -1, 0, 0, 0};
    const int result = timed("gpmMetrics", false, [&] { return api.gpmMetrics(&gpm); });
    std::printf(", gpm code %d:", result);
    for (std::size_t i = 0; i < 6; ++i) std::printf(" %.2f", gpm.metrics[i].value);
    std::swap(gpm.first, gpm.second);
  }
  end();
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const double length = argc > 1 ? std::atof(argv[1]) : 5;
  const std::string library = argc > 2 ? argv[2] : nv::kLibraries[0];
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia/version"}) {
    struct stat info {};
    std::printf("%s %s\n", path, ::stat(path, &info) == 0 ? "is there" : "is not there");
  }
  std::ifstream params("/proc/driver/nvidia/params");
  for (std::string line; std::getline(params, line);)
    if (line.find("Admin") != std::string::npos) std::printf("params: %s\n", line.c_str());
  const double began = clockSeconds(CLOCK_MONOTONIC);
  const auto loaded = nv::load(library);
  if (!loaded.ok()) {
    std::printf("no library: %s\n", loaded.error().message.c_str());
    return 1;
  }
  std::printf("dlopen and dlsym %.1f ms\n", (clockSeconds(CLOCK_MONOTONIC) - began) * 1e3);
  const nv::Api& api = loaded.value();
  const int code = ask("nvmlInit_v2", api.init);
  end();
  if (code != nv::kSuccess) return 1;
  char version[96] = {};
  (void)ask("driverVersion", api.driverVersion, version, 96u);
  std::printf(" %s", version);
  end();
  unsigned count = 0;
  (void)ask("count", api.count, &count);
  std::printf(" %u", count);
  end();
  std::vector<nv::Device> devices;
  for (unsigned i = 0; i < count; ++i) {
    nv::Device device = nullptr;
    std::printf("device %u\n", i);
    const int handle = ask("handleByIndex", api.handleByIndex, i, &device);
    end();
    if (handle != nv::kSuccess) continue;
    devices.push_back(device);
    showDevice(api, i, device);
  }
  costs.clear();
  std::vector<nv::GpmMetrics> gpm(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    nv::GpmSupport support{nv::kGpmVersion, 0};
    if (api.gpmSupport == nullptr || api.gpmSupport(devices[i], &support) != 0 ||
        support.supported == 0 || api.gpmAlloc(&gpm[i].first) != 0 ||
        api.gpmAlloc(&gpm[i].second) != 0 || api.gpmSample(devices[i], gpm[i].first) != 0)
      gpm[i].first = nullptr;
  }
  const double cpu = clockSeconds(CLOCK_PROCESS_CPUTIME_ID);
  const double start = clockSeconds(CLOCK_MONOTONIC);
  unsigned turn = 0;
  for (; clockSeconds(CLOCK_MONOTONIC) - start < length; ++turn) {
    ::usleep(200'000);
    for (std::size_t i = 0; i < devices.size(); ++i) sample(api, devices[i], gpm[i], turn);
  }
  std::printf("%u samples in %.2f s: %.2f ms CPU a second\n", turn,
              clockSeconds(CLOCK_MONOTONIC) - start,
              (clockSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e3 /
                  (clockSeconds(CLOCK_MONOTONIC) - start));
  for (const auto& [name, cost] : costs)
    std::printf("  %-22s %4u calls, mean %8.1f us (cpu %8.1f), most %8.1f us\n", name.c_str(),
                cost.calls, cost.wall / cost.calls, cost.cpu / cost.calls, cost.maximum);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS") || line.starts_with("Threads")) std::puts(line.c_str());
  return 0;
}
