// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace stallprof::test {

// A file as an installation has it: in a directory of its own, and only its owner may write to
// either. Both go with this.
struct InstalledFile {
  InstalledFile(const std::string& name, ::mode_t mode)
      : directory((std::filesystem::temp_directory_path() /
                   ("stallprof-installed-" + std::to_string(::getpid())))
                      .string()),
        path(directory + "/" + name) {
    std::filesystem::create_directories(directory);
    ::chmod(directory.c_str(), 0755);
    add(path, mode);
  }
  ~InstalledFile() { remove(); }
  InstalledFile(const InstalledFile&) = delete;
  InstalledFile& operator=(const InstalledFile&) = delete;

  static void add(const std::string& file, ::mode_t mode) {
    std::ofstream(file) << "\n";
    ::chmod(file.c_str(), mode);
  }
  void remove() const { std::filesystem::remove_all(directory); }

  std::string directory, path;
};

}  // namespace stallprof::test
