// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stallprof {

// One command of stallprof. Its options are declared once, on a CLI11 app and bound to members:
// parsing, --help, the configuration, completions and manual pages all read that declaration
// (command_line.h). One object serves one command line.
class Command {
 public:
  virtual ~Command() = default;
  // Describes the command, and adds its options and places; may be called for several apps.
  virtual void declare(CLI::App& app) = 0;
  // Parses the words after the command's name; a CLI::ParseError is reported by the caller. By
  // default all of them are options and places of `app`, and "--" ends the options.
  virtual void parse(CLI::App& app, const std::vector<std::string>& words);
  // What is wrong with the values, taken together; "": nothing.
  virtual std::string check() { return ""; }
  // The exit status.
  virtual int run() = 0;
  // Of a usage error: one line on stderr.
  [[nodiscard]] virtual int usageStatus() const { return 2; }
};

// One function a command, in the file of its name.
std::unique_ptr<Command> makeRun();
std::unique_ptr<Command> makeAttach();
std::unique_ptr<Command> makeReport();
std::unique_ptr<Command> makeDoctor();
std::unique_ptr<Command> makeExplain();
std::unique_ptr<Command> makeCompare();
std::unique_ptr<Command> makeExport();
std::unique_ptr<Command> makeGate();
std::unique_ptr<Command> makeImport();
std::unique_ptr<Command> makeVerify();
std::unique_ptr<Command> makeTune();
std::unique_ptr<Command> makeTop();
std::unique_ptr<Command> makeCompletion();
std::unique_ptr<Command> makeManual();

}  // namespace stallprof
