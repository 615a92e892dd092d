// SPDX-License-Identifier: MIT
#pragma once

#include "present/metrics/report_fields.h"

// The report's fields of what is concluded: verdict, ceilings, findings and their advice, trials,
// cost; and of functions, lines and trainers beside them.
namespace stallprof::report {

constexpr auto fieldsOf(const Verdict*) {
  using V = Verdict;
  return fieldList(
      field("bound_by", &V::boundBy,
            {.words = "extract|transform|load|compute|comm|periodic|host|mixed|unknown"}),
      field("healthy", &V::healthy), field("confidence", &V::confidence),
      field("stall_ratio", &V::stallRatio,
            metric("Time that a replay with data ready did not take.", "stall", Worse::kHigher)),
      field("au_ratio", &V::auRatio,
            metric("Compute, of the window.", "AU (compute share)", Worse::kLower)),
      field("withheld",
            [](const V& v) -> Maybe<std::string> {
              if (!v.withheld) return {};
              return noVerdictReason(*v.withheld);
            },
            {.text = "Why there is no verdict; null where there is one."}),
      field("tied", &V::tied,
            {.text = "Ranks of the findings that weigh as much as the first, it included."}));
}

constexpr auto fieldsOf(const Ceiling*) {
  return fieldList(
      field("stage", &Ceiling::stage),
      field("steps_per_s", &Ceiling::stepsPerSecond, {.nullable = true}),
      field(
          "gap_ratio", &Ceiling::gapRatio,
          {.text = "measured step time / ceiling's - 1", .nullable = true, .minimum = kNoMinimum}),
      field("limited_by", &Ceiling::limitedBy),
      field("basis", &Ceiling::basis, {.words = "inferred|measured|verified"}));
}

constexpr auto fieldsOf(const EvidenceItem*) {
  return fieldList(field("text", &EvidenceItem::text),
                   field("value", &EvidenceItem::value, {.minimum = kNoMinimum}),
                   field("unit", &EvidenceItem::unit));
}
constexpr auto fieldsOf(const Advice::Change*) {
  using C = Advice::Change;
  return fieldList(field("kind", &C::kind, {.words = "loader_arg|env|code|data|hardware"}),
                   field("name", &C::name), field("from", &C::from), field("to", &C::to));
}
constexpr auto fieldsOf(const Prediction*) {
  using P = Prediction;
  return fieldList(
      field("speedup", &P::speedup, {"old by new time of the window; assumed: likely"}),
      field("low", &P::low, {"of a 90 % interval; assumed: null"}),
      field("high", &P::high, {"of a 90 % interval; assumed: with the largest effect"}),
      field("basis", [](const P& p) { return p.speedup ? Maybe<Basis>(p.basis) : std::nullopt; },
            {.text = "measured times replayed with the change made, or an effect that is assumed",
             .words = "replayed|assumed"}),
      field("assumes", [](const P& p) { return TextOrNull{p.assumes}; },
            {"completes: assuming that"}));
}
constexpr auto fieldsOf(const Advice*) {
  return fieldList(field("id", &Advice::id), field("text", &Advice::text),
                   field("change", &Advice::change), field("diff", &Advice::diff),
                   field("predicted", &Advice::predicted), field("measured", &Advice::measured),
                   field("measured_low", &Advice::measuredLow, {.optional = true}),
                   field("measured_high", &Advice::measuredHigh, {.optional = true}),
                   field("outcome", [](const Advice& a) { return TextOrNull{a.outcome}; },
                         {.text = "of its trials; only where it was tried",
                          .words = "gain|no_gain|slower|undecided|failed",
                          .optional = true}),
                   field("risk", &Advice::risk), field("verify_command", &Advice::verifyCommand));
}
constexpr auto fieldsOf(const Finding*) {
  return fieldList(field("rank", &Finding::rank,
                         {.text = "Findings by predicted gain and confidence; 1 is first.",
                          .exported = true,
                          .minimum = 1}),
                   field("id", &Finding::id), field("phase", &Finding::phase, {.words = kPhases}),
                   field("share_ratio", &Finding::shareRatio,
                         {.text = "Share of the window.", .exported = true, .nullable = true}),
                   field("within", &Finding::within), field("confidence", &Finding::confidence),
                   field("title", &Finding::title),
                   field("where", [](const Finding& f) { return place(f.where); }),
                   field("hot", [](const Finding& f) { return hotPlace(f.hot, &f.native); }),
                   field("evidence", &Finding::evidence), field("advice", &Finding::advice));
}

constexpr auto fieldsOf(const FunctionInfo*) {
  using F = FunctionInfo;
  return fieldList(
      field("phase", &F::phase, {.words = kPhases}),
      field("role", &F::role, {.words = "trainer|producer"}),
      field("phase_ratio", &F::phaseRatio, {"of the phase"}),
      field("low", &F::low, {"of a 90 % interval"}),
      field("high", &F::high, {"of a 90 % interval"}),
      field("hot", [](const F& f) { return hotPlace(f.hot, &f.native); }, {"the innermost frame"}),
      field("where", [](const F& f) { return place(f.where); },
            {"the line of the user's that led to it"}),
      field("rule", &F::rule, {"why that phase: stallprof explain --rule"}),
      field("samples", &F::samples), field("processes", &F::processes));
}

constexpr auto fieldsOf(const LineInfo*) {
  using L = LineInfo;
  return fieldList(field("where", [](const L& l) { return place(l.where); }),
                   field("phase", &L::phase, {.text = "of most of its time", .words = kPhases}),
                   field("ratio", &L::ratio, {"of the trainer's samples"}),
                   field("text", [](const L& l) { return textOrNull(l.text); },
                         {"null where the file is not on this host as it ran"}));
}

constexpr auto fieldsOf(const TrainerInfo*) {
  using T = TrainerInfo;
  return fieldList(field("pid", &T::pid), field("rank", &T::rank, {.minimum = kNoMinimum}),
                   field("attempt", &T::attempt, {.minimum = 1}),
                   field("shown", &T::shown, {"all beside this list is of this one"}),
                   field("steps", &T::steps), field("breakdown", &T::breakdown),
                   field("verdict", &T::verdict));
}

constexpr auto fieldsOf(const TunedSetting*) {
  using S = TunedSetting;
  return fieldList(
      field("num_workers", &S::workers),
      field("prefetch_factor", &S::prefetch, {"null: there are no workers"}),
      field("threads", &S::threads, {"of each native pool; null: as the program has it"}),
      field("steps_per_s", &S::stepsPerSecond, {"of one run; null: it gave none"}),
      field("predicted_steps_per_s", &S::predicted, {"by the model; null: it has no answer"}),
      field("peak_rss_bytes", &S::peakBytes, {"of all processes"}),
      field("why", [](const S& s) { return TextOrNull{s.why}; }, {"it gave no steps"}));
}
constexpr auto fieldsOf(const Tuned*) {
  using T = Tuned;
  return fieldList(
      field("where", [](const T& t) { return fileLine(t.where); }, {"of the loader"}),
      field("best", &T::best, {"of settings, from 0; 0: the program as it is"}),
      field("change", [](const T& t) { return TextOrNull{t.change}; },
            {"that makes the setting that was compared, in the source"}),
      field("compared", [](const T& t) { return t.compared; },
            {"of settings: the one that was run in alternation with the unchanged program"}),
      field("measured", &T::measured, {"what that gave: old by new step time"}),
      field("measured_low", &T::low), field("measured_high", &T::high),
      field("more_rss_bytes", &T::moreBytes,
            {.text = "peak of all processes, more than as it is", .minimum = kNoMinimum}),
      field("outcome", &T::outcome, {.words = "gain|no_gain|slower|undecided|failed"}),
      field("why", [](const T& t) { return TextOrNull{t.why}; }, {"nothing is faster"}),
      field("settings", &T::settings, {"in the order of their runs"}));
}

constexpr auto fieldsOf(const Cost*) {
  return fieldList(
      field("price_per_hour", &Cost::pricePerHour), field("per_epoch", &Cost::perEpoch),
      field("wasted_per_epoch", &Cost::wastedPerEpoch),
      field("epochs", &Cost::epochs, {.text = "of a whole training; what follows is of those"}),
      field("total_ns", &Cost::time),
      field("total_fixed_ns", &Cost::timeFixed, {.text = "with the first fix"}),
      field("total", &Cost::money, {.text = "money"}),
      field("total_saved", &Cost::saved, {.text = "money"}),
      field("measured", &Cost::measured, {"the gain of the first fix is one that was measured"}));
}

}  // namespace stallprof::report
