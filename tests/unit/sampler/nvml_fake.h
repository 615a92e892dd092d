// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace stallprof {

// The fake monitoring library of tests/fakes/nvml, and the script it follows.
class FakeNvml {
 public:
  explicit FakeNvml(const std::string& script = {}) {
    char path[] = "/tmp/stallprof-nvml-XXXXXX";
    const int fd = ::mkstemp(path);
    if (fd >= 0) ::close(fd);
    path_ = path;
    say(script);
    ::setenv("STALLPROF_FAKE_NVML", path, 1);
  }
  FakeNvml(const FakeNvml&) = delete;
  ~FakeNvml() { std::filesystem::remove(path_); }

  // Replaced at once: the library may read at any time.
  void say(const std::string& script) {
    std::ofstream(path_ + ".new") << script;
    std::filesystem::rename(path_ + ".new", path_);
  }
  [[nodiscard]] static std::string library(const std::string& age = "now") {
    return std::string(STALLPROF_FAKE_NVML_DIR) + "/" + age + "/libnvidia-ml.so.1";
  }

 private:
  std::string path_;
};

// A Hopper at work, as the library reported one.
inline std::string hopper(const std::string& uuid = "GPU-a") {
  return "device " + uuid +
         " NVIDIA H100 80GB HBM3\n"
         "value gpu 75\nvalue memory 40\n"
         "value used 1073741824\nvalue total 85520809984\n"
         "value clock 1755\nvalue max_clock 1980\nvalue memory_clock 2619\n"
         "value celsius 61\nvalue reasons 4\n"
         "field 83 123456\nfield 186 690000\n"
         "field 74 5000\nfield 271 700\nfield 269 30\nfield 270 4\nfield 75 99\n"
         "field 197 1000\nfield 198 2000\n";
}
inline std::string hopperGpm() {
  return "gpm 2 88.25\ngpm 3 40.5\ngpm 5 33\ngpm 10 12.34\ngpm 20 100\ngpm 21 200\n";
}

}  // namespace stallprof
