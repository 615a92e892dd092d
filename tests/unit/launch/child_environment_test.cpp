// SPDX-License-Identifier: MIT
#include "launch/setup/child_environment.h"

#include "tests/catch.h"
#include "tests/unit/launch/installed_file.h"

using namespace stallprof;
using Words = std::vector<std::string>;

namespace {

const Injection kInjection{"/opt/hook", "/proc/5/fd/9", "/data/a.stallprof"};

}  // namespace

TEST_CASE("the command's environment keeps its words and order and gains ours") {
  CHECK(withInjection({"B=2", "A=1", "odd", "=x"}, kInjection) ==
        Words{"B=2", "A=1", "odd", "=x", "PYTHONPATH=/opt/hook/", "STALLPROF_EVENTS=/proc/5/fd/9",
              "STALLPROF_RECORDING=/data/a.stallprof"});
}

TEST_CASE("the user's PYTHONPATH follows ours, byte for byte") {
  const auto path = [](const std::string& old) {
    const Words words = withInjection({"PYTHONPATH=" + old}, kInjection);
    return std::string(valueOf(words, "PYTHONPATH"));
  };
  CHECK(path("/a:/b") == "/opt/hook:/a:/b");
  CHECK(path("") == "/opt/hook/");  // none: what a job adds would follow an empty entry
  CHECK(path("/opt/hook/:/b") == "/opt/hook::/b");
  CHECK(path("/a:") == "/opt/hook:/a:");  // an empty entry is the working directory
  CHECK(path(":/a") == "/opt/hook::/a");
}

TEST_CASE("what an earlier run left behind is replaced, not piled up") {
  const Words once = withInjection({"PYTHONPATH=/a"}, kInjection);
  CHECK(withInjection(once, kInjection) == once);
  const Words alone = withInjection({"A=1"}, kInjection);
  CHECK(withInjection(alone, kInjection) == alone);
}

TEST_CASE("without a hook PYTHONPATH is not touched") {
  Injection injection = kInjection;
  injection.hookDirectory.clear();
  CHECK(valueOf(withInjection({"PYTHONPATH=/a:"}, injection), "PYTHONPATH") == "/a:");
}

TEST_CASE("a hook directory that others can write to is refused") {
  const test::InstalledFile script("sitecustomize.py", 0644);
  const std::string& directory = script.directory;
  CHECK(checkHook(directory).ok());
  ::chmod(script.path.c_str(), 0666);
  CHECK_FALSE(checkHook(directory).ok());
  ::chmod(script.path.c_str(), 0644);
  const std::string program = directory + "/program";
  test::InstalledFile::add(program, 0755);
  ::chmod(directory.c_str(), 0775);
  CHECK_FALSE(checkHook(directory, program).ok());
  ::chmod(program.c_str(), 0775);  // as the umask 002 leaves all of an installation
  CHECK(checkHook(directory, program).ok());
  ::chmod(directory.c_str(), 0777);
  CHECK_FALSE(checkHook(directory, program).ok());
  script.remove();
  CHECK_FALSE(checkHook(directory).ok());
  CHECK_FALSE(checkHook("/a:b").ok());
}
