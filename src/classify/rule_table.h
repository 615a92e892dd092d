// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/vocabulary.h"

// The phase rules as they are written down: one TOML file a family of libraries. What each key
// means stands in rules/README.md; here is what a file becomes, and which rule claims a frame.
namespace stallprof {

// For whom a thread works at a frame: it makes batches, or it consumes them.
enum class Side : std::uint8_t { kTrainer, kProducer };

// What a rule is about, for the finding that counts it: periodic, but for compilation. No rule of
// the table names what follows an update, nor a pause: their places do
// (analysis/steps/own_phases.h).
enum class OverheadKind : std::uint8_t {
  kNone,
  kCheckpoint,
  kEvaluation,
  kLogging,
  kGc,
  kCompilation,
  kAfterUpdate,
  kPause
};
inline constexpr std::size_t kOverheadKinds = 8;
[[nodiscard]] constexpr std::string_view nameOf(OverheadKind c) {
  constexpr std::string_view kNames[] = {"none", "checkpoint",  "evaluation",      "logging",
                                         "gc",   "compilation", "after an update", "pause"};
  return kNames[static_cast<std::size_t>(c)];
}

struct PhaseRule {
  std::string id;  // "torch.collate"
  // What time under a claimed frame is; nullopt: the rule only says that frames further out say
  // nothing of those below, or for whom these work.
  std::optional<Phase> phase;
  bool work = false;  // phase "work": transform for a producer, compute for a trainer
  OverheadKind overhead = OverheadKind::kNone;
  std::optional<Side> scope;  // claims only on this side; nullopt: on both
  // Frames called from a claimed one are of this side; nullopt: of the side that it is of.
  std::optional<Side> context;
  bool apart = false;  // has a context, if only the one that there was
  // What is called from a claimed frame is this rule's too, whatever claims it: all of it, or down
  // to the next frame of the user's own.
  enum class Covers : std::uint8_t { kNothing, kLibrary, kAll };
  Covers covers = Covers::kNothing;
  bool waits = false;     // claims also the time blocked on a file or socket, which is else extract
  bool handover = false;  // here a thread takes what another thread or process hands over
  bool fetches = false;   // gets the next batch of a loader, which a hook times exactly
  bool update = false;    // a claimed frame updates a model: a loop around it is a loop of steps
  bool gradient = false;  // a claimed frame takes a gradient: what is compiled around it trains
  bool arrays = false;    // with `work`: operations on arrays that no model's gradients go through
  bool parses = false;    // decodes or parses what was read, each time to the same
  bool alone = false;     // claims only where no other library's model is updated in the same run
  std::vector<std::string> modules, functions;  // of Python frames; both must fit where both are
  std::vector<std::string> libraries, symbols;  // of native frames; likewise
  std::string family;                           // what library the file is of: "PyTorch"
  std::string note, source;
  std::string file;  // the rule file and line it stands in
  std::uint32_t line = 0;
  bool users = false;  // from --rules: goes first, and may claim the user's own code
};

// What a rule's time is about: making data; a model's own work; a framework's operators, which both
// may call.
[[nodiscard]] inline bool namesData(const PhaseRule& rule) {
  return !rule.work && (rule.phase == Phase::kExtract || rule.phase == Phase::kTransform);
}
[[nodiscard]] inline bool namesModel(const PhaseRule& rule) {
  return !rule.work && rule.phase == Phase::kCompute;
}
[[nodiscard]] inline bool namesFramework(const PhaseRule& rule) {
  return rule.work && !rule.arrays;
}
[[nodiscard]] inline bool namesWork(const PhaseRule& rule) {
  return namesModel(rule) || namesFramework(rule);
}
// Where the model may be met: what waits for others says nothing of it.
[[nodiscard]] inline bool namesOperators(const PhaseRule& rule) {
  return namesFramework(rule) && !rule.handover;
}

// Waits for what was dispatched before, whenever that was.
[[nodiscard]] inline bool awaitsResults(const PhaseRule& rule) {
  return namesModel(rule) && rule.waits && rule.overhead == OverheadKind::kNone;
}

// The rules of one file. The Error names file and line: "my.toml:7: ...".
[[nodiscard]] Result<std::vector<PhaseRule>> parseRules(std::string_view toml,
                                                        const std::string& file);

struct RuleFile {
  std::string_view name, text;
};
// The files of src/classify/rules, by name.
[[nodiscard]] std::span<const RuleFile> builtInRuleFiles();

// All rules in the order they are tried: the user's, then the built-in ones. Immutable.
class RuleTable {
 public:
  // What the built-in files hold, parsed once.
  [[nodiscard]] static const RuleTable& builtIn();
  // With the rules of `toml`, called `file`, before them. An id may not be a built-in one's.
  [[nodiscard]] static Result<RuleTable> withUsers(std::string_view toml, const std::string& file);

  [[nodiscard]] std::span<const PhaseRule> rules() const { return rules_; }
  [[nodiscard]] const PhaseRule* find(std::string_view id) const;

 private:
  std::vector<PhaseRule> rules_;
};

// One frame as rules see it. Of a native frame `file` is its library, `function` its symbol.
struct FrameName {
  bool native = false;
  std::string_view function, file;
};

// The rule that claims a frame where a thread works for `side`; null where none does. Users' rules
// go first. Of the others the most exact: one that names functions before one that names none, then
// the longest module or library pattern, then the order of the table. Only users' rules may claim
// the user's own code. `alone`: whether rules that are so may claim. The rule lives as long as the
// table.
[[nodiscard]] const PhaseRule* claim(const RuleTable& table, const FrameName& frame, Side side,
                                     bool alone = true);

}  // namespace stallprof
