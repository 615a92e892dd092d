// SPDX-License-Identifier: MIT
#include "stallprof/manual_topics.h"

#include <algorithm>

#include "advise/explain.h"
#include "classify/rule_table.h"
#include "gate/metrics.h"
#include "stallprof/arguments.h"
#include "stallprof/verbs.h"

namespace stallprof {
namespace {

// A line that is printed as it stands, its second column at `column`.
std::string row(std::string_view left, std::string_view right, std::size_t column) {
  std::string line = "  " + std::string(left);
  line.resize(std::max(line.size() + 1, column + 2), ' ');
  return line + std::string(right) + "\n";
}

ManualTopic configTopic() {
  std::string keys;
  for (const Verb& verb : verbs()) {
    std::string names;
    for (const Argument& argument : helpOf(verb.call).arguments)
      if (const std::string name = argument.longName(); !name.empty() && name != "--ab")
        names += (names.empty() ? "" : ", ") + name.substr(2);
    if (!names.empty()) keys += "[" + std::string(verb.name) + "]: " + names + "\n\n";
  }
  return {
      "stallprof.toml",
      5,
      "what you would type each time",
      {{"DESCRIPTION",
        "A configuration in TOML. A table is a command, a key the long name of one of its options "
        "without the dashes: a text or number where the option takes a value, true for one that "
        "takes none, a list for one that may repeat. Words on the command line win.\n"
        "\n"
        "Read are, the weakest first: $XDG_CONFIG_HOME/stallprof/config.toml (~/.config), then "
        "stallprof.toml in the working directory, else the [tool.stallprof.COMMAND] tables of "
        "pyproject.toml there. STALLPROF_CONFIG names one file instead of all; none reads none.\n"
        "\n"
        "An unknown table or key is an error that names file and line, whatever command runs."},
       {"KEYS", keys},
       {"EXAMPLES",
        "  [run]\n  name = \"runs/%s.%t\"\n  report = [\"text\", \"html\"]\n  price = 2.5\n"
        "  [report]\n  color = \"never\""}}};
}

std::string metrics() {
  std::string text;
  for (const MetricKind& kind : metricKinds())
    text += row(kind.path,
                std::string(kind.unit) + (kind.worse == Worse::kHigher  ? ", worse when higher"
                                          : kind.worse == Worse::kLower ? ", worse when lower"
                                                                        : ""),
                42);
  return text;
}

constexpr char kPolicyKeys[] =
    "schema = \"stallprof.gate/1\" comes first.\n"
    "\n"
    "[baseline]: dir (a directory that gate --baseline save made, seen from the policy's file), "
    "match (of cpu_model, cores, gpus, framework: what must be the same on both sides; all by "
    "default), on_mismatch (incomparable, the default, or warn), on_missing (fail, the default, or "
    "warn), max_age_days (an older one is told).\n"
    "\n"
    "[sampling]: min_runs (a side, for a verdict; 5 by default and at least), min_steps (in the "
    "window of every run).\n"
    "\n"
    "[stats]: alpha (the chance of a false alarm in all, 0.02 by default), correction (bonferroni, "
    "the default: the checks that can fail share alpha; or none), on_inconclusive (warn, the "
    "default, pass, or fail with status 3).\n"
    "\n"
    "[[metric]], any number of times: name, and one or more of\n"
    "\n"
    "  max_regression        not worse than the base by this share (3 % by default)\n"
    "  single_run_threshold  10 % or more: decides where a side has too few runs\n"
    "  min_abs               a smaller change does not count, in the metric's unit\n"
    "  max, min              a budget of the head's median; needs no base\n"
    "  deterministic         true: the same in every run, within tolerance\n"
    "  tolerance             of the base's value, with deterministic\n"
    "  worse                 higher or lower, where the metric itself does not say\n"
    "  level                 error (the default), warn, info, off\n"
    "\n"
    "Amounts take units as texts: \"5%\", \"1.5ms\", \"800MB\".\n"
    "\n"
    "[[finding]]: id (of a finding, or transform.* for all of a phase), new (error, the default, "
    "warn, info): one that every run of the head has and no run of the base.\n"
    "\n"
    "[[waiver]]: metric, reason, expires (a date): a failure is a warning until then; afterwards "
    "the waiver itself is an error.";

constexpr char kPolicyExample[] =
    "  schema = \"stallprof.gate/1\"\n"
    "  [baseline]\n"
    "  dir = \"perf/base\"\n"
    "  on_missing = \"warn\"\n"
    "  [stats]\n"
    "  on_inconclusive = \"warn\"\n"
    "  [[metric]]\n"
    "  name = \"steps.time_ns.p50\"\n"
    "  max_regression = \"5%\"\n"
    "  min_abs = \"1ms\"\n"
    "  [[metric]]\n"
    "  name = \"breakdown.ratio.data_wait\"\n"
    "  max = \"10%\"\n"
    "  level = \"warn\"\n"
    "  [[finding]]\n"
    "  id = \"transform.*\"\n"
    "  new = \"warn\"\n"
    "  [[waiver]]\n"
    "  metric = \"steps.time_ns.p50\"\n"
    "  reason = \"half precision is on its way\"\n"
    "  expires = 2099-12-31";

ManualTopic policyTopic() {
  return {"stallprof-gate.toml",
          5,
          "what must hold for a change to pass",
          {{"DESCRIPTION",
            "The policy of stallprof gate, in TOML: --config names it, else stallprof-gate.toml in "
            "the working directory is it. An unknown key, table or metric is an error that names "
            "file and line."},
           {"KEYS", kPolicyKeys},
           {"METRICS", "Paths of the report in JSON.\n\n" + metrics()},
           {"EXAMPLES", kPolicyExample}}};
}

ManualTopic rulesTopic() {
  return {
      "stallprof-rules",
      5,
      "phase rules of your own",
      {{"DESCRIPTION",
        "A file for --rules, in TOML: which frames of a stack are which phase. Your rules come "
        "before the built-in ones, of which there are " +
            std::to_string(RuleTable::builtIn().rules().size()) +
            "; stallprof explain --rules lists those.\n"
            "\n"
            "A Python frame is claimed where module and function fit, both where both are given; a "
            "native frame where libraries and symbols do. * stands for any run of characters. "
            "Modules are named from site-packages, dist-packages or the standard library's folder "
            "on (PIL/Image.py); your own code by the end of its path.\n"
            "\n"
            "The innermost frame that a rule claims decides. Of several rules that claim one "
            "frame: yours first, then one that names functions, then the longest pattern."},
       {"KEYS",
        "library and source, before the rules: the family, and where the names come from.\n"
        "\n"
        "[[rule]], any number of times:\n"
        "\n"
        "  id         unique: a-z, 0-9, _ - and dots\n"
        "  phase      extract, transform, load, compute, sync, comm, periodic, other, or\n"
        "             work: transform in a producer, compute in the trainer\n"
        "  modules    Python files, and folders with a slash at the end\n"
        "  functions  of those files; without modules, of any\n"
        "  libraries  native files, by name\n"
        "  symbols    native functions\n"
        "  note       for explain\n"
        "  scope      producer, trainer or any: claims only on that side\n"
        "  context    producer or trainer: what is called from here works for that side\n"
        "  covers     true: all that is called from here is this rule's;\n"
        "             \"library\": down to the next frame of your own code\n"
        "  waits      true: time blocked on files and sockets too, extract otherwise\n"
        "  chore      of phase periodic: checkpoint, evaluation, logging or gc\n"
        "  update     true: updates the model, so a loop around it is one of steps\n"
        "  handover   true: blocked here, a thread waits for what others hand over"},
       {"EXAMPLES",
        "  library = \"My loaders\"\n"
        "  [[rule]]\n"
        "  id = \"mycorp.decode\"\n"
        "  phase = \"transform\"\n"
        "  modules = [\"mycorp/codec.py\", \"mycorp/ops/\"]\n"
        "  functions = [\"Codec.decode\", \"unpack_*\"]\n"
        "  note = \"Frames out of containers.\""}}};
}

// The first sentence of a finding's page, on one line.
std::string meaning(std::string_view page) {
  page.remove_prefix(std::min(page.find("\n\n") + 2, page.size()));
  std::string text;
  for (const char c : page.substr(0, page.find("\n\n")))
    if (c != '\n' && c != ' ')
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  return text.substr(0, text.find(". ") + (text.find(". ") == std::string::npos ? 0 : 1));
}

ManualTopic findingsTopic() {
  std::string list;
  for (const std::string_view id : explainedIds())
    list += std::string(id) + ": " + meaning(*explain(id)) + "\n\n";
  return {
      "stallprof-findings",
      7,
      "the words of a report: phases, steps, findings",
      {{"PHASES",
        "  extract    open, read and receive samples\n"
        "  transform  decompress, decode, augment and collate, wherever it runs\n"
        "  load       hand ready batches to compute: pickle, send, pin, copy; worker start-up\n"
        "  compute    forward, backward, optimizer, and the Python between them\n"
        "  sync       the trainer stands on a device that does none of its work\n"
        "  comm       exposed waiting in a collective\n"
        "  periodic   checkpoints, evaluation, logging, garbage collection\n"
        "  other      trainer time that no rule claims\n"
        "  unknown    waiting for data that nobody claims\n"
        "\n"
        "A thread that is ready but has no CPU keeps its phase."},
       {"STEPS AND THE WINDOW",
        "A step is one batch consumed by the trainer, from the start of its fetch to the start of "
        "the next; without a loader an optimizer step, else an iteration inferred from stacks. "
        "Warm-up is the first 10 steps or 5 s, whichever is longer, at most 30 % of the steps. The "
        "window is every nanosecond of the trainer from there to the end of the last step; all "
        "shares are of it, and add up."},
       {"BLAME",
        "Time that the trainer waits for data is given to what the worker that owed the batch was "
        "doing: its CPU is transform unless a rule says otherwise, being blocked on a file or "
        "socket is extract, what comes after its fetch is load."},
       {"CONFIDENCE",
        "high takes a model that reproduces the measured step time within 10 %, a clear winner, "
        "100 steps and a quiet host; each one missing costs a level. verified: a trial ran. A "
        "predicted gain is a new run of the model, with a 90 % interval, never a sum."},
       {"FINDINGS", list + "stallprof explain ID prints a finding's whole page."}}};
}

}  // namespace

const std::vector<ManualTopic>& manualTopics() {
  static const std::vector<ManualTopic> kTopics = {configTopic(), policyTopic(), rulesTopic(),
                                                   findingsTopic()};
  return kTopics;
}

}  // namespace stallprof
