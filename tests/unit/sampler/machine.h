// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace stallprof {

// A root directory made for one test: files as they are on a real /proc and /sys.
class Machine {
 public:
  Machine() {
    char path[] = "/tmp/stallprof-machine-XXXXXX";
    root_ = ::mkdtemp(path);
    file("proc/loadavg", "0.00 0.00 0.00 1/1 1\n");
  }
  Machine(const Machine&) = delete;
  ~Machine() { std::filesystem::remove_all(root_); }

  [[nodiscard]] const std::string& root() const { return root_; }

  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::filesystem::remove(root_ + "/" + path);
    std::filesystem::create_symlink(target, root_ + "/" + path);
  }
  void remove(const std::string& path) { std::filesystem::remove_all(root_ + "/" + path); }

  struct Task {
    int pid = 0, parent = 1;
    std::string comm = "python3";
    int start = 1000;  // ticks since boot
    char state = 'S';
    long stack = 140000;  // changes with each exec
    long userTicks = 250;
  };
  // A process with one thread.
  void process(const Task& task) {
    const std::string folder = "proc/" + std::to_string(task.pid) + "/";
    file(folder + "stat", stat(task));
    file(folder + "cmdline", task.comm + std::string(1, '\0'));
    thread(task, task.pid);
    lastPid(task.pid);
  }
  void thread(const Task& task, int tid) {
    const std::string folder =
        "proc/" + std::to_string(task.pid) + "/task/" + std::to_string(tid) + "/";
    file(folder + "stat", stat(task));
    file(folder + "comm", task.comm + "\n");
    schedstat(task.pid, tid, 0, 0, 1);
    syscall(task.pid, tid, "running\n");
  }
  void schedstat(int pid, int tid, long run, long queued, long count) {
    file("proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/schedstat",
         std::to_string(run) + " " + std::to_string(queued) + " " + std::to_string(count) + "\n");
  }
  void syscall(int pid, int tid, const std::string& line) {
    file("proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall", line);
  }
  void end(int pid) { remove("proc/" + std::to_string(pid)); }
  // As the kernel does when a task is born.
  void lastPid(int pid) {
    file("proc/loadavg", "0.00 0.00 0.00 1/9 " + std::to_string(pid) + "\n");
  }

 private:
  static std::string stat(const Task& t) {
    return std::to_string(t.pid) + " (" + t.comm + ") " + t.state + " " + std::to_string(t.parent) +
           " 1 1 0 -1 4194560 11 0 3 0 " + std::to_string(t.userTicks) + " 50 100 20 20 0 1 0 " +
           std::to_string(t.start) + " 1000000 200 18446744073709551615 1 1 " +
           std::to_string(t.stack) + " 0 0 0\n";
  }
  std::string root_;
};

// A thread in a system call, as /proc/PID/task/TID/syscall has it.
inline std::string call(long number, const std::string& first = "0x0",
                        const std::string& second = "0x0") {
  return std::to_string(number) + " " + first + " " + second + " 0x0 0x0 0x0 0x0 0x7ffe 0x7f11\n";
}

}  // namespace stallprof
