// SPDX-License-Identifier: MIT
// A file of configuration, ours or somebody's pyproject.toml. One command stands for all of them.
#include "stallprof/config.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "stallprof/command_line.h"
#include "tests/fuzz/input_files.h"

namespace stallprof {
namespace {

class RunLike final : public Command {
 public:
  void declare(CLI::App& app) override {
    addText(app, "-o,--output", text_, "a text");
    addRepeated(app, "--report", texts_, "texts");
    addNumber(app, "--price", number_, "a number");
    app.add_flag("--counters", flag_, "a switch");
  }
  int run() override { return 0; }

 private:
  std::string text_;
  std::vector<std::string> texts_;
  std::optional<double> number_;
  bool flag_ = false;
};

std::unique_ptr<Command> makeRunLike() { return std::make_unique<RunLike>(); }

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = {{"run", "COMMAND", "", &makeRunLike}};
  return kVerbs;
}
const Verb* findVerb(std::string_view name) { return name == "run" ? verbs().data() : nullptr; }
std::string usage() { return ""; }

}  // namespace stallprof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof;
  static const testing::InputDirectory directory;
  static const bool there = ::chdir(directory.path.c_str()) == 0;
  if (size == 0 || !there) return 0;
  const char* name = (data[0] & 1) != 0 ? "pyproject.toml" : "own.toml";
  directory.write(name, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  ::setenv("STALLPROF_CONFIG", name, 1);
  const auto words = configuredWords("run");
  if (!words.ok() && words.error().message.find('\n') != std::string::npos) std::abort();
  return 0;
}
