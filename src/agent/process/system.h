// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// What the agent asks of the system. It lives in other people's processes: no allocation, no
// descriptor kept, nothing printed. All functions may be called from any thread.
namespace stallprof::agent {

std::uint64_t monotonicNs();
std::uint64_t threadCpuNs();  // of the calling thread
// This process and the calling thread as the recorder's /proc has them; the second is cached.
std::uint32_t processId();
std::uint32_t threadId();
// gettid(): in a pid namespace below that of /proc another number, and the one that CUPTI knows.
std::uint32_t innerThreadId();
// The name of a thread of this process by that number, empty where it cannot be read; false: it has
// ended.
bool threadName(std::uint32_t thread, char (&name)[16]);
std::uint64_t startTicks();  // field 22 of /proc/self/stat; 0: unknown

// How often this process, or the one it is a copy of, has been forked into being: what a thread
// kept under another number was its parent's. A forked child counts on, and touches no more than
// that.
std::uint32_t forkGeneration();
void countFork();

// Held for moments, in which nothing is called. What a forked child finds held was a thread's of
// its parent, which will never let go: the child takes it.
class Lock {
 public:
  explicit Lock(std::atomic<std::uint32_t>& held);
  ~Lock() { held_.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic<std::uint32_t>& held_;
};

// Maps `bytes` of the recorder's memory named `path` (/proc/PID/fd/N); null: not that.
void* mapShared(const char* path, std::size_t bytes);

// Waits until `word` is no longer `value`, or `ns` are over. May wake for nothing.
void futexWait(const std::uint32_t* word, std::uint32_t value, std::uint64_t ns);
void futexWake(const std::uint32_t* word);

// A detached thread with all signals blocked. False: there is none.
bool startThread(void (*body)(), const char* name);

// Bounded texts: what does not fit is cut, and the result always ends in a zero.
struct Text {
  char* at;
  std::size_t room;
  Text& operator<<(const char* more);
  Text& operator<<(std::int64_t number);
};
template <std::size_t N>
Text textIn(char (&buffer)[N]) {
  buffer[0] = 0;
  return {buffer, N};
}

}  // namespace stallprof::agent
