// SPDX-License-Identifier: MIT
//
// The smallest recorder: drain [--out DIR] [--hold|--stall] [--close-after MS] [--agent LIB] --
// COMMAND...
// Makes an activity memory, runs the command with it, empties buffers as they fill and, when the
// command is gone, those that were never returned. Prints one JSON object on stderr's behalf to
// the file DIR/summary.json, or to stdout after the command's own. --out keeps the raw buffers
// (buffer-NNNNN.bin) and the name logs; --hold never frees a buffer (a recorder that hangs),
// --stall not before the agent has yielded (one that stands still for a while); --close-after says
// to the command that the recorder has ended.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "recording/memory/activity_memory.h"

namespace {

using Header = stallprof_activity_header;
using AreaMemory = stallprof_activity_area;

std::string outFolder;
bool hold = false, stall = false, inWindows = false;

struct Seen {
  std::map<std::uint32_t, std::uint64_t> kinds;
  std::map<std::uint64_t, std::uint64_t> names;  // kernel name number -> records
  std::uint64_t full = 0, torn = 0, foreignNames = 0, unread = 0, kernelNs = 0;
};

struct Memory {
  Header* header;
  AreaMemory* areas;
  std::string path;
};

Memory makeMemory() {
  const int fd = memfd_create("activity", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, STALLPROF_ACTIVITY_BYTES) != 0) {
    std::perror("memfd");
    _exit(125);
  }
  void* at = mmap(nullptr, STALLPROF_ACTIVITY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  auto* header = static_cast<Header*>(at);
  header->magic = STALLPROF_ACTIVITY_MAGIC;
  header->version = STALLPROF_ACTIVITY_VERSION;
  header->areas = STALLPROF_ACTIVITY_AREAS;
  return {header, reinterpret_cast<AreaMemory*>(header + 1),
          "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd)};
}

template <class T>
T get(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void readBuffer(const AreaMemory& area, const std::uint8_t* at, std::size_t bytes, Seen& seen,
                bool torn) {
  for (std::size_t used = 0; used + 8 <= bytes;) {
    const std::uint32_t kind = get<std::uint32_t>(at + used);
    const std::uint32_t stride = kind < STALLPROF_ACTIVITY_KINDS ? area.stride[kind] : 0;
    if (kind == 0 || stride == 0) {
      if (!torn || kind != 0) seen.unread += bytes - used;
      return;
    }
    ++seen.kinds[kind];
    if (kind == 10) {
      const auto name = get<std::uint64_t>(at + used + 104);
      if (name >= STALLPROF_NAME_NUMBERS) ++seen.foreignNames;
      ++seen.names[name];
      seen.kernelNs += get<std::uint64_t>(at + used + 24) - get<std::uint64_t>(at + used + 16);
    }
    used += stride;
  }
}

void keep(const std::string& name, const void* from, std::size_t bytes) {
  if (outFolder.empty()) return;
  std::ofstream(outFolder + "/" + name, std::ios::binary)
      .write(static_cast<const char*>(from), static_cast<std::streamsize>(bytes));
}

void drainArea(AreaMemory& area, Seen& seen, bool exited) {
  if (std::atomic_ref<std::uint32_t>(area.state).load() == STALLPROF_AGENT_YIELDED) stall = false;
  for (std::uint32_t i = 0; i < STALLPROF_ACTIVITY_BUFFERS; ++i) {
    std::atomic_ref<std::uint32_t> state(area.buffer[i].state);
    const std::uint32_t now = state.load(std::memory_order_acquire);
    const bool full = now == STALLPROF_BUFFER_FULL;
    if (!full && !(exited && now == STALLPROF_BUFFER_TAKEN)) continue;
    if ((hold || stall) && !exited) continue;
    const std::size_t bytes = full ? area.buffer[i].bytes : STALLPROF_ACTIVITY_BUFFER_BYTES;
    readBuffer(area, area.data[i], bytes, seen, !full);
    const std::uint64_t number = seen.full++ + seen.torn;
    if (!full) {
      --seen.full;
      ++seen.torn;
    }
    char name[64];
    std::snprintf(name, sizeof name, "buffer-%05lu%s.bin", number, full ? "" : "-torn");
    keep(name, area.data[i], bytes);
    std::memset(area.data[i], 0, bytes);
    area.buffer[i].bytes = 0;
    state.store(STALLPROF_BUFFER_FREE, std::memory_order_release);
  }
}

std::string escaped(const char* text) {
  std::string out;
  for (; *text != 0; ++text)
    if (*text == '"' || *text == '\\' || *text < ' ')
      out += '?';
    else
      out += *text;
  return out;
}

std::map<std::uint64_t, std::string> readNames(const AreaMemory& area) {
  std::map<std::uint64_t, std::string> names;
  for (std::uint64_t at = 0; at + sizeof(stallprof_name) <= area.name_head;) {
    stallprof_name n{};
    std::memcpy(&n, area.names + at, sizeof n);
    at += sizeof n;
    if (n.number == 0) {  // no address is a name's any more
      names.erase(names.lower_bound(STALLPROF_NAME_NUMBERS), names.end());
      continue;
    }
    names.try_emplace(n.number, reinterpret_cast<const char*>(area.names + at), n.length);
    names[n.pointer] = names[n.number];
    at += (n.length + 7) & ~7u;
  }
  return names;
}

void printArea(std::FILE* out, const AreaMemory& a, const Seen& seen) {
  std::fprintf(out,
               "{\"owner\":%u,\"state\":%u,\"why\":\"%s\",\"error\":%d,\"cupti\":%u,\"driver\":%u,"
               "\"dropped\":%lu,\"starved\":%lu,\"names_lost\":%lu,\"flushed\":%lu,\"clocks\":%lu,"
               "\"agent_cpu\":%lu,\"full\":%lu,\"torn\":%lu,\"unread\":%lu,\"kernel_ns\":%lu,"
               "\"foreign_names\":%lu,\"switches\":[",
               a.owner, a.state, escaped(a.why).c_str(), a.error, a.cupti_version, a.driver_version,
               a.dropped, a.starved, a.names_lost, a.flushed, a.clock_head, a.agent_cpu, seen.full,
               seen.torn, seen.unread, seen.kernelNs, seen.foreignNames);
  const std::uint64_t first =
      a.switch_head > STALLPROF_ACTIVITY_SWITCHES ? a.switch_head - STALLPROF_ACTIVITY_SWITCHES : 0;
  for (std::uint64_t i = first; i < a.switch_head; ++i)
    std::fprintf(out, "%s[%lu,%u]", i == first ? "" : ",",
                 a.onoff[i % STALLPROF_ACTIVITY_SWITCHES].monotonic,
                 a.onoff[i % STALLPROF_ACTIVITY_SWITCHES].on);
  std::fprintf(out, "],\"clock\":[");
  const std::uint64_t oldest =
      a.clock_head > STALLPROF_ACTIVITY_CLOCKS ? a.clock_head - STALLPROF_ACTIVITY_CLOCKS : 0;
  for (std::uint64_t i = oldest; i < a.clock_head; ++i) {
    const stallprof_clock_pair& p = a.clock[i % STALLPROF_ACTIVITY_CLOCKS];
    std::fprintf(out, "%s[%lu,%lu,%lu]", i == oldest ? "" : ",", p.monotonic, p.device,
                 p.uncertainty);
  }
  std::fprintf(out, "],\"kinds\":{");
  const char* comma = "";
  for (const auto& [kind, count] : seen.kinds) {
    std::fprintf(out, "%s\"%u\":%lu", comma, kind, count);
    comma = ",";
  }
  std::fprintf(out, "},\"stride\":{");
  comma = "";
  for (std::uint32_t k = 0; k < STALLPROF_ACTIVITY_KINDS; ++k)
    if (a.stride[k] != 0) {
      std::fprintf(out, "%s\"%u\":%u", comma, k, a.stride[k]);
      comma = ",";
    }
  std::fprintf(out, "},\"names\":{");
  comma = "";
  const auto names = readNames(a);
  std::map<std::string, std::uint64_t> byName;
  for (const auto& [number, count] : seen.names) {
    const auto found = names.find(number);
    byName[found != names.end() ? found->second : "?" + std::to_string(number)] += count;
  }
  for (const auto& [name, count] : byName) {
    std::fprintf(out, "%s\"%s\":%lu", comma, escaped(name.c_str()).c_str(), count);
    comma = ",";
  }
  std::fprintf(out, "}}");
}

pid_t startCommand(char** command, const std::string& memory, const std::string& agent) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv(STALLPROF_ACTIVITY_VARIABLE, memory.c_str(), 1);
  if (!agent.empty()) setenv("CUDA_INJECTION64_PATH", agent.c_str(), 1);
  execvp(command[0], command);
  std::perror(command[0]);
  _exit(127);
}

}  // namespace

int main(int argc, char** argv) {
  std::string agent;
  std::chrono::milliseconds closeAfter = std::chrono::hours(1);
  int i = 1;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    if (std::strcmp(argv[i], "--out") == 0)
      outFolder = argv[++i];
    else if (std::strcmp(argv[i], "--agent") == 0)
      agent = argv[++i];
    else if (std::strcmp(argv[i], "--hold") == 0)
      hold = true;
    else if (std::strcmp(argv[i], "--stall") == 0)
      stall = true;
    else if (std::strcmp(argv[i], "--in-windows") == 0)
      inWindows = true;
    else if (std::strcmp(argv[i], "--close-after") == 0)
      closeAfter = std::chrono::milliseconds(std::atol(argv[++i]));
  }
  if (i + 1 >= argc) return 125;
  const Memory memory = makeMemory();
  memory.header->in_windows = inWindows ? 1 : 0;
  const pid_t child = startCommand(argv + i + 1, memory.path, agent);
  std::vector<Seen> seen(STALLPROF_ACTIVITY_AREAS);
  int status = 0;
  const auto started = std::chrono::steady_clock::now();
  for (bool exited = false; !exited;) {
    exited = waitpid(child, &status, WNOHANG) == child;
    for (std::uint32_t a = 0; a < STALLPROF_ACTIVITY_AREAS; ++a)
      if (memory.areas[a].owner != 0) drainArea(memory.areas[a], seen[a], exited);
    if (std::chrono::steady_clock::now() - started > closeAfter)
      std::atomic_ref<std::uint32_t>(memory.header->closed).store(1);
    if (!exited) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::FILE* out =
      outFolder.empty() ? stdout : std::fopen((outFolder + "/summary.json").c_str(), "w");
  std::fprintf(out, "{\"turned_away\":%u,\"status\":%d,\"areas\":[", memory.header->turned_away,
               WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  const char* comma = "";
  for (std::uint32_t a = 0; a < STALLPROF_ACTIVITY_AREAS; ++a) {
    if (memory.areas[a].owner == 0) continue;
    std::fputs(comma, out);
    printArea(out, memory.areas[a], seen[a]);
    comma = ",";
    char name[32];
    std::snprintf(name, sizeof name, "names-%02u.bin", a);
    keep(name, memory.areas[a].names, memory.areas[a].name_head);
  }
  std::fputs("]}\n", out);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
