// SPDX-License-Identifier: MIT
#include "classify/rule_table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "classify/frames.h"
#include "settings/toml_file.h"

namespace stallprof {
namespace {

// A file a person writes; the largest built-in one is a tenth of it.
constexpr std::size_t kLargestFile = 1u << 20;
constexpr std::size_t kMaxRules = 4096, kMaxPatterns = 256;

// One file on its way to rules.
class FileReader : TomlFile {
 public:
  explicit FileReader(std::string file) : TomlFile(std::move(file)) {}

  Result<std::vector<PhaseRule>> read(std::string_view text) {
    const Limits limits = {kLargestFile, "larger than 1 MiB",
                           [](std::string_view row) { return row.starts_with("[[rule]]"); },
                           "a line may begin with [ only as [[rule]]"};
    const Result<TomlTable> top = parse(text, limits);
    if (!top.ok()) return top.error();
    for (const auto& [key, node] : top.value().entries) readTop(key, node);
    for (PhaseRule& rule : rules_) {
      rule.family = library_;
      if (rule.source.empty()) rule.source = source_;
    }
    if (wrong_) return *wrong_;
    return std::move(rules_);
  }

 private:
  void readTop(std::string_view key, const TomlValue& node) {
    if (key == "library") return take(node, key, library_);
    if (key == "source") return take(node, key, source_);
    const auto* rules = key == "rule" ? node.as<TomlValue::List>() : nullptr;
    if (!rules) return fail(node, inQuotes(key) + " is not library, source or [[rule]]");
    if (rules->size() > kMaxRules) return fail(node, "more than 4096 rules");
    for (const TomlValue& each : *rules)
      if (const auto* table = each.as<TomlTable>())
        readRule(*table);
      else
        fail(each, "rule is written [[rule]]");
  }

  void readRule(const TomlTable& table) {
    PhaseRule rule;
    rule.file = file_;
    rule.line = table.line;
    for (const auto& [key, node] : table.entries) readKey(key, node, rule);
    if (!wrong_) check(table.line, rule);
    rules_.push_back(std::move(rule));
  }

  void readKey(std::string_view key, const TomlValue& node, PhaseRule& rule) {
    if (key == "id") return take(node, key, rule.id);
    if (key == "note") return take(node, key, rule.note);
    if (key == "source") return take(node, key, rule.source);
    if (key == "phase") return readPhase(node, rule);
    if (key == "overhead") return readOverhead(node, rule);
    if (key == "scope") return readSide(node, key, rule.scope);
    if (key == "context") {
      rule.apart = true;
      return readSide(node, key, rule.context);
    }
    if (key == "waits") return take(node, key, rule.waits);
    if (key == "fetches") return take(node, key, rule.fetches);
    if (key == "update") return take(node, key, rule.update);
    if (key == "gradient") return take(node, key, rule.gradient);
    if (key == "arrays") return take(node, key, rule.arrays);
    if (key == "parses") return take(node, key, rule.parses);
    if (key == "alone") return take(node, key, rule.alone);
    if (key == "handover") return take(node, key, rule.handover);
    if (key == "covers") return readCovers(node, rule);
    if (key == "modules") return take(node, key, rule.modules);
    if (key == "functions") return take(node, key, rule.functions);
    if (key == "libraries") return take(node, key, rule.libraries);
    if (key == "symbols") return take(node, key, rule.symbols);
    fail(node, inQuotes(key) + " is no key of a rule");
  }

  void take(const TomlValue& node, std::string_view key, std::string& into) {
    const auto* text = node.as<std::string>();
    if (!text || text->empty()) return fail(node, std::string(key) + " takes a text");
    into = *text;
  }

  void take(const TomlValue& node, std::string_view key, std::vector<std::string>& into) {
    const auto* list = node.as<TomlValue::List>();
    if (!list || list->empty() || list->size() > kMaxPatterns)
      return fail(node, std::string(key) + " takes a list of 1 to 256 texts");
    for (const TomlValue& each : *list) take(each, key, into.emplace_back());
  }

  void readPhase(const TomlValue& node, PhaseRule& rule) {
    const std::string name = node.text();
    rule.work = name == "work";
    if (rule.work) return void(rule.phase = Phase::kTransform);
    rule.phase = phaseNamed(name);
    if (rule.phase == Phase::kUnknown)
      return fail(node, inQuotes(name) +
                            " is no phase; there are extract, transform, load, "
                            "compute, sync, comm, periodic, other, and work");
  }

  void readOverhead(const TomlValue& node, PhaseRule& rule) {
    const std::string name = node.text();
    for (std::size_t i = 1; i < static_cast<std::size_t>(OverheadKind::kAfterUpdate); ++i)
      if (const auto overhead = static_cast<OverheadKind>(i); name == nameOf(overhead))
        rule.overhead = overhead;
    if (rule.overhead == OverheadKind::kNone)
      fail(node, inQuotes(name) +
                     " is no overhead; there are checkpoint, evaluation, logging, gc, compilation");
  }

  void readCovers(const TomlValue& node, PhaseRule& rule) {
    const auto* yes = node.as<bool>();
    if (node.text() == "library")
      rule.covers = PhaseRule::Covers::kLibrary;
    else if (yes)
      rule.covers = *yes ? PhaseRule::Covers::kAll : PhaseRule::Covers::kNothing;
    else
      fail(node, "covers is true, false or \"library\"");
  }

  void readSide(const TomlValue& node, std::string_view key, std::optional<Side>& into) {
    const std::string name = node.text();
    if (name == "producer") return void(into = Side::kProducer);
    if (name == "trainer") return void(into = Side::kTrainer);
    if (name == "any") return;
    fail(node,
         inQuotes(name) + " is no " + std::string(key) + "; there are producer, trainer and any");
  }

  void take(const TomlValue& node, std::string_view key, bool& into) {
    const auto* yes = node.as<bool>();
    if (!yes) return fail(node, std::string(key) + " is true or false");
    into = *yes;
  }

  void check(std::uint32_t at, const PhaseRule& rule) {
    const auto idLetter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    };
    if (rule.id.empty()) return fail(at, "a rule without id");
    if (!std::all_of(rule.id.begin(), rule.id.end(), idLetter) || rule.id.size() > 64)
      return fail(at, "id " + inQuotes(rule.id) + " takes a-z, 0-9, _ - and dots, 64 at most");
    const std::string name = "rule " + inQuotes(rule.id);
    if (!rule.phase && !rule.apart) return fail(at, name + " has neither phase nor context");
    const bool compiles = rule.overhead == OverheadKind::kCompilation;
    if (compiles && (rule.phase != Phase::kCompute || rule.work))
      return fail(at, name + " is about compilation, but not compute");
    if (rule.overhead != OverheadKind::kNone && !compiles && rule.phase != Phase::kPeriodic)
      return fail(at, name + " has an overhead, but is not periodic");
    if (rule.modules.empty() && rule.functions.empty() && rule.libraries.empty() &&
        rule.symbols.empty())
      return fail(at, name + " matches nothing: give modules, functions, libraries or symbols");
    const auto [first, isNew] = lines_.emplace(rule.id, rule.line);
    if (!isNew) fail(at, name + " is already in line " + std::to_string(first->second));
  }

  std::string library_, source_;
  std::vector<PhaseRule> rules_;
  std::map<std::string, std::uint32_t> lines_;
};

// How exactly a rule fits; -1: it does not. Names beat places, longer places beat shorter ones.
constexpr int kByName = 10'000, kByUser = 100'000;

int longest(int best, std::string_view pattern) {
  return std::max(best, static_cast<int>(std::min<std::size_t>(pattern.size(), kByName - 1)));
}

// By a rule's patterns of places (modules, libraries) and of names in them; where it has none, any.
template <class FitsPlace, class FitsName>
int fitBy(const std::vector<std::string>& places, FitsPlace fitsPlace,
          const std::vector<std::string>& names, FitsName fitsName) {
  if (places.empty() && names.empty()) return -1;
  int fit = places.empty() ? 0 : -1;
  for (const std::string& pattern : places)
    if (fitsPlace(pattern)) fit = longest(fit, pattern);
  if (fit < 0 || names.empty()) return fit;
  return std::any_of(names.begin(), names.end(), fitsName) ? fit + kByName : -1;
}

int fitPython(const PhaseRule& rule, const FrameName& frame, const ModulePath& module) {
  if (module.users && !rule.users) return -1;
  return fitBy(
      rule.modules, [&](auto& pattern) { return fitsModule(module, pattern); }, rule.functions,
      [&](auto& pattern) { return fitsFunction(frame.function, pattern); });
}

int fitNative(const PhaseRule& rule, const FrameName& frame) {
  return fitBy(
      rule.libraries, [&](auto& pattern) { return fitsPattern(baseName(frame.file), pattern); },
      rule.symbols, [&](auto& pattern) { return fitsPattern(frame.function, pattern); });
}

}  // namespace

Result<std::vector<PhaseRule>> parseRules(std::string_view toml, const std::string& file) {
  return FileReader(file).read(toml);
}

// The built-in files are tested, so one that does not parse is a build that must not run.
const RuleTable& RuleTable::builtIn() {
  static const RuleTable table = [] {
    RuleTable made;
    for (const RuleFile& file : builtInRuleFiles()) {
      auto rules = parseRules(file.text, std::string(file.name));
      if (!rules.ok()) {
        std::fprintf(stderr, "stallprof: built-in rules: %s\n", rules.error().message.c_str());
        std::abort();
      }
      for (PhaseRule& rule : rules.value()) made.rules_.push_back(std::move(rule));
    }
    return made;
  }();
  return table;
}

Result<RuleTable> RuleTable::withUsers(std::string_view toml, const std::string& file) {
  auto users = parseRules(toml, file);
  if (!users.ok()) return users.error();
  RuleTable table;
  for (PhaseRule& rule : users.value()) {
    if (const PhaseRule* there = builtIn().find(rule.id))
      return Error{Error::Kind::kUsage,
                   escapeTerminal(file, 400) + ":" + std::to_string(rule.line) + ": rule '" +
                       rule.id + "' is a built-in one (" + there->file + "); choose another id"};
    rule.users = true;
    table.rules_.push_back(std::move(rule));
  }
  const auto own = builtIn().rules();
  table.rules_.insert(table.rules_.end(), own.begin(), own.end());
  return table;
}

const PhaseRule* RuleTable::find(std::string_view id) const {
  const auto found =
      std::find_if(rules_.begin(), rules_.end(), [&](const PhaseRule& r) { return r.id == id; });
  return found == rules_.end() ? nullptr : &*found;
}

const PhaseRule* claim(const RuleTable& table, const FrameName& frame, Side side, bool alone) {
  const ModulePath module = frame.native ? ModulePath{} : modulePathOf(frame.file);
  const PhaseRule* best = nullptr;
  int bestFit = -1;
  for (const PhaseRule& rule : table.rules()) {
    if ((rule.scope && *rule.scope != side) || (rule.alone && !alone)) continue;
    int fit = frame.native ? fitNative(rule, frame) : fitPython(rule, frame, module);
    if (fit >= 0 && rule.users) fit += kByUser;
    if (fit > bestFit) {
      best = &rule;
      bestFit = fit;
    }
  }
  return best;
}

}  // namespace stallprof
