// SPDX-License-Identifier: MIT
//
// A program that uses a (fake) GPU, in place of a training: gpu_job WORD...
//   cupti=PATH      loads that libcupti first, as libtorch does
//   threads=N launches=N names=N rate=N   work: launches in all, a second (0: as fast as can be)
//   copies=N syncs=N queries=N graphs=N   of each, spread over nothing: after the launches
//   seconds=N       keep launching that long instead of counting
//   fork            a child, as a DataLoader's, that calls CUDA; then more work in the parent
//   spawn=N         a child of its own image, as multiprocessing's spawn has it: N launches there
//   release retake  as the hook does, between two batches of launches
//   tool tool-ends  another tool of the program subscribes to CUPTI, and leaves it
//   late            no context before this word (else from the start); no-context: none at all
//   sleep=MS
//   steps=S         a training of so long that asks the agent at each step whether a turn is due
//   few many        its steps launch once, not 50 times; 50 times again
//   hears           prints how many calls have been called back
//   beside          another thread copies all the time; beside-driver: by the driver's API
//   linger=MS       exit handlers of the program take that long, after all others
//   threadless      no thread can be started when the context is made
//   resume=MS       whenever it is stopped, it goes on after that long
//   end=return|_exit|kill|hang            how it ends
// Prints the number of launches made.
#include <dlfcn.h>
#include <fake_cuda.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<long> launched;
std::vector<std::string> names{"_Z6kernelv"};

struct Work {
  long launches = 0, rate = 0, threads = 1;
  double seconds = 0;
};

void pace(long made, long rate, Clock::time_point start) {
  if (rate <= 0 || made % 64 != 0) return;
  std::this_thread::sleep_until(start + std::chrono::nanoseconds(made * 1'000'000'000 / rate));
}

void launchSome(long count, long rate, double seconds) {
  const auto start = Clock::now();
  const auto until = start + std::chrono::duration<double>(seconds);
  for (long i = 0; seconds > 0 ? i % 64 != 0 || Clock::now() < until : i < count; ++i) {
    fakeLaunch(names[static_cast<std::size_t>(i) % names.size()].c_str(), 5'000);
    ++launched;
    pace(i, rate, start);
  }
}

void work(const Work& w) {
  std::vector<std::thread> all;
  for (long t = 0; t < w.threads; ++t)
    all.emplace_back(launchSome, w.launches / w.threads, w.rate / w.threads, w.seconds);
  for (std::thread& t : all) t.join();
}

// What a worker of a loader may do by mistake: nothing of it may reach the parent's buffers.
void inChild() {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10'000; ++i) fakeLaunch("_Z5childv", 1'000);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

// Another program, with a CUDA of its own: it inherits nothing but the environment.
void spawnChild(const std::string& cupti, long launches) {
  const std::string work = "launches=" + std::to_string(launches);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "gpu_job", work.c_str(), "end=_exit", cupti.c_str(), nullptr);
    _exit(127);
  }
  waitpid(child, nullptr, 0);
}

void callAgent(const char* name) {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* agent = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (agent == nullptr) return;
  const auto function = reinterpret_cast<int (*)()>(dlsym(agent, name));
  std::printf("%s=%d\n", name, function());
}

int launchesOfStep = 50;  // more than are recorded all the time

// A training as the hook sees it: one thread launches, and says so when it has for a step. Prints
// how often the agent asked for a turn.
void train(double seconds) {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* agent = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  const auto* due =
      static_cast<std::uint32_t*>(agent != nullptr ? dlsym(agent, "stallprof_agent_due") : nullptr);
  const auto turn = reinterpret_cast<int (*)()>(
      agent != nullptr ? dlsym(agent, "stallprof_agent_turn") : nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  long turns = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < launchesOfStep; ++i) fakeLaunch(names[0].c_str(), 5'000);
    launched += launchesOfStep;
    if (due != nullptr && *static_cast<const volatile std::uint32_t*>(due) != 0) {
      turn();
      ++turns;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::printf("turns=%ld\n", turns);
}

// As a thread that copies batches ahead, for as long as the program runs.
void launchBeside(void (*call)()) {
  std::thread([call] {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) call();
  }).detach();
}

// As one that is linked with CUPTI would.
void otherTool(const std::string& cupti, bool begins) {
  void* library = dlopen(cupti.c_str() + std::strlen("cupti="), RTLD_NOW | RTLD_NOLOAD);
  static void* subscriber = nullptr;
  using Callback = void (*)(void*, unsigned, unsigned, const void*);
  const auto subscribe =
      reinterpret_cast<int (*)(void**, Callback, void*)>(dlsym(library, "cuptiSubscribe"));
  const auto unsubscribe = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuptiUnsubscribe"));
  const int result = begins ? subscribe(
                                  &subscriber, [](auto...) {}, nullptr)
                            : unsubscribe(subscriber);
  std::printf("%s=%d\n", begins ? "tool" : "tool-ends", result);
}

// How many calls the fake has called back.
void printHeard(const std::string& cupti) {
  void* library = dlopen(cupti.c_str() + std::strlen("cupti="), RTLD_NOW | RTLD_NOLOAD);
  const auto heard = reinterpret_cast<long (*)()>(dlsym(library, "fakeCuptiCallbacks"));
  std::printf("hears=%ld\n", heard());
}

void endAs(const std::string& how) {
  std::printf("launched=%ld\n", launched.load());
  std::fflush(stdout);
  if (how == "_exit") _exit(0);
  if (how == "kill") kill(getpid(), SIGKILL);
  while (how == "hang") pause();
}

long numberOf(const std::string& word) { return std::atol(word.c_str() + word.find('=') + 1); }

void nap(long ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Handlers run last that are registered first.
void lingerAtExit(long ms) {
  static long how = ms;
  std::atexit([] { nap(how); });
}

// A process of its own wakes this one up: a stopped one cannot.
void resumeAfter(long ms) {
  const pid_t us = getpid();
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string name = "/proc/" + std::to_string(us) + "/stat";
  for (char state = 0; getppid() == us; nap(10)) {
    std::FILE* stat = std::fopen(name.c_str(), "r");
    if (stat == nullptr || std::fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) break;
    std::fclose(stat);
    if (state == 'T') {
      nap(ms);
      kill(us, SIGCONT);
    }
  }
  _exit(0);
}

// With no address space left for its stack.
void withoutThreads(void** context) {
  rlimit before{}, none{};
  getrlimit(RLIMIT_AS, &before);
  none.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_AS, &none);
  cuCtxCreate_v2(context, 0, 0);
  setrlimit(RLIMIT_AS, &before);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  Work w;
  std::string ending = "return";
  for (const std::string& word : words)
    if (word.rfind("linger=", 0) == 0) lingerAtExit(numberOf(word));
  for (const std::string& word : words) {  // what must be known before CUDA starts
    if (word.rfind("resume=", 0) == 0) resumeAfter(numberOf(word));
    if (word.rfind("cupti=", 0) == 0 && dlopen(word.c_str() + 6, RTLD_NOW) == nullptr)
      return std::fprintf(stderr, "%s\n", dlerror()), 2;
  }
  void* context = nullptr;
  cuInit(0);
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (has("threadless"))
    withoutThreads(&context);
  else if (!has("late") && !has("no-context"))
    cuCtxCreate_v2(&context, 0, 0);
  for (const std::string& word : words) {
    const auto is = [&](const char* name) { return word.rfind(name, 0) == 0; };
    if (is("threads=")) w.threads = numberOf(word);
    if (is("rate=")) w.rate = numberOf(word);
    if (is("names=")) {
      names.clear();
      for (long i = 0; i < numberOf(word); ++i)
        names.push_back("_ZN2at6native29vectorized_elementwise_kernelILi" + std::to_string(i) +
                        "ENS0_13BinaryFunctorIfffEEEviT0_T1_");
    }
    if (is("seconds=")) {
      w.seconds = std::atof(word.c_str() + 8);
      work(w);
      w.seconds = 0;
    }
    if (is("launches=")) {
      w.launches = numberOf(word);
      work(w);
    }
    for (long i = is("copies=") ? numberOf(word) : 0; i > 0; --i) fakeCopy(1, 1, 4096);
    for (long i = is("syncs=") ? numberOf(word) : 0; i > 0; --i) fakeSynchronize(1000);
    for (long i = is("queries=") ? numberOf(word) : 0; i > 0; --i) fakeQuery();
    for (long i = is("graphs=") ? numberOf(word) : 0; i > 0; --i) fakeGraph(50'000);
    if (is("sleep=")) nap(numberOf(word));
    if (word == "fork") inChild();
    if (is("spawn=")) spawnChild(words[0], numberOf(word));
    if (word == "beside") launchBeside([] { fakeCopy(1, 1, 4096); });
    if (word == "beside-driver") launchBeside(fakeDriverCopy);
    if (word == "few") launchesOfStep = 1;
    if (word == "many") launchesOfStep = 50;
    if (word == "hears") printHeard(words[0]);
    if (is("steps=")) train(std::atof(word.c_str() + 6));
    if (word == "keep") callAgent("stallprof_agent_keep");
    if (word == "release") callAgent("stallprof_agent_release");
    if (word == "retake") callAgent("stallprof_agent_retake");
    if (word == "tool" || word == "tool-ends") otherTool(words[0], word == "tool");
    if (word == "late") cuCtxCreate_v2(&context, 0, 0);
    if (is("end=")) ending = word.substr(4);
  }
  endAs(ending);
  return 0;
}
