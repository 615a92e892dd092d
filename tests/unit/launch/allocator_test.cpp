// SPDX-License-Identifier: MIT
#include "launch/setup/allocator.h"

#include <cstdlib>
#include <filesystem>

#include "tests/catch.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

std::string wordOrWhy(std::string_view name, const std::string& root = "/none") {
  const auto word = allocatorVariable(name, {}, root);
  return word.ok() ? word.value() : word.error().message;
}

// Unset again at its end.
struct Variable {
  Variable(const char* its, const std::string& value) : name(its) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name); }
  const char* name;
};

}  // namespace

TEST_CASE("the C library's allocator is set to keep what is freed, beside what is set already") {
  CHECK(wordOrWhy("keep").starts_with("GLIBC_TUNABLES=glibc.malloc.mmap_threshold="));
  const Variable present("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
  CHECK(wordOrWhy("keep").starts_with("GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.malloc.mmap_"));
}

TEST_CASE("another allocator is preloaded from where it is, before what is preloaded already") {
  Machine machine;
  machine.file("usr/lib/x86_64-linux-gnu/libtcmalloc.so.4", "");
  std::filesystem::create_directories(machine.root() + "/usr/lib/x86_64-linux-gnu");
  std::filesystem::copy_file("/proc/self/exe",
                             machine.root() + "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4");
  const std::string found = machine.root() + "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4";
  CHECK(wordOrWhy("tcmalloc", machine.root()) == "LD_PRELOAD=" + found);
  const Variable loaded("LD_PRELOAD", "/a.so");
  CHECK(wordOrWhy("tcmalloc", machine.root()) == "LD_PRELOAD=" + found + ":/a.so");
  CHECK(wordOrWhy(found) == "LD_PRELOAD=" + found + ":/a.so");
}

TEST_CASE("the libraries of an environment of its own come first") {
  Machine machine;
  machine.file("usr/lib/libjemalloc.so.2", "");
  std::filesystem::create_directories(machine.root() + "/conda/lib");
  std::filesystem::create_symlink("/proc/self/exe", machine.root() + "/conda/lib/libjemalloc.so.2");
  const Variable conda("CONDA_PREFIX", machine.root() + "/conda");
  CHECK(wordOrWhy("jemalloc", machine.root()) ==
        "LD_PRELOAD=" + machine.root() + "/conda/lib/libjemalloc.so.2");
}

TEST_CASE("what the command's environment is given for the same variable stays in it") {
  const auto word = [](std::string_view name, const std::vector<std::string>& environment) {
    return allocatorVariable(name, environment).value();
  };
  const std::vector<std::string> given = {"LD_PRELOAD=/old.so", "LD_PRELOAD=/own.so"};
  CHECK(word("/proc/self/exe", given) == "LD_PRELOAD=/proc/self/exe:/own.so");
  CHECK(word("keep", {"GLIBC_TUNABLES=glibc.pthread.rseq=0"})
            .starts_with("GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.malloc."));
}

TEST_CASE("an allocator that is not there is an error that says where it was searched") {
  Machine machine;
  const std::string why = wordOrWhy("mimalloc", machine.root());
  CHECK(why.find("finds no libmimalloc in ") != std::string::npos);
  CHECK(why.find(machine.root() + "/usr/lib64") != std::string::npos);
  machine.file("libtext.so", "INPUT(libjemalloc.so.2)");
  CHECK(wordOrWhy(machine.root() + "/libtext.so").find("it is no library") != std::string::npos);
  std::filesystem::create_directories(machine.root() + "/a b");
  std::filesystem::create_symlink("/proc/self/exe", machine.root() + "/a b/lib.so");
  CHECK(wordOrWhy(machine.root() + "/a b/lib.so").find("spaces or colons") != std::string::npos);
  CHECK(wordOrWhy("malloc").find("jemalloc, tcmalloc, mimalloc or the path") != std::string::npos);
  CHECK(wordOrWhy("./none.so").find("cannot read the library './none.so'") != std::string::npos);
}
