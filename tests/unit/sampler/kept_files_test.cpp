// SPDX-License-Identifier: MIT
#include <cerrno>

#include "sampler/proc/proc_file.h"
#include "tests/catch.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

TEST_CASE("a kept file is read whole each time, as it is by then") {
  Machine machine;
  const std::string path = machine.root() + "/proc/stat", longer(20000, 'x');
  KeptFiles files(1);
  machine.file("proc/stat", "one");
  CHECK(files.read(path) == "one");
  machine.file("proc/stat", longer);
  CHECK(files.read(path) == longer);
  CHECK(files.read(path, 10) == std::string(10, 'x'));
}

TEST_CASE("its descriptor is kept, up to the limit; what gives nothing any more is reopened") {
  Machine machine;
  const std::string kept = machine.root() + "/kept", other = machine.root() + "/other";
  KeptFiles files(1);
  machine.file("kept", "first");
  machine.file("other", "first");
  CHECK(files.read(kept) == "first");
  CHECK(files.read(other) == "first");
  for (const char* name : {"kept", "other"}) {
    machine.file(std::string("new-") + name, "second");
    std::filesystem::rename(machine.root() + "/new-" + name, machine.root() + "/" + name);
  }
  CHECK(files.read(kept) == "first");
  CHECK(files.read(other) == "second");
  files.closeAll();
  CHECK(files.read(kept) == "second");

  machine.file("kept", "");  // as a control group that was removed: its files give nothing
  machine.file("new", "third");
  std::filesystem::rename(machine.root() + "/new", kept);
  CHECK(files.read(kept) == "third");
  CHECK(files.read(machine.root() + "/absent").empty());
  CHECK(errno == ENOENT);
}
