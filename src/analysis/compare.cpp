// SPDX-License-Identifier: MIT
#include "analysis/compare.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/stats.h"

namespace stallprof {
namespace {

// With t = sqrt(freedom) tan(a) Student's density becomes cos(a)^(freedom - 1), up to the integral
// of that to a right angle, by the Beta function.
double studentWhole(double freedom) {
  return std::sqrt(std::numbers::pi) / 2 *
         std::exp(std::lgamma(freedom / 2) - std::lgamma((freedom + 1) / 2));
}

bool allPositive(std::span<const double> values) {
  return !values.empty() && std::all_of(values.begin(), values.end(),
                                        [](double v) { return std::isfinite(v) && v > 0; });
}

// A side's values at `path`; empty where a run lacks it.
std::vector<double> valuesOf(std::span<const RunNumbers> runs, const std::string& path) {
  std::vector<double> values;
  for (const RunNumbers& run : runs) {
    const auto found = run.find(path);
    if (found == run.end()) return {};
    values.push_back(found->second);
  }
  return values;
}

}  // namespace

// Smooth and on a bounded range, so Simpson's rule is exact to far more digits than runs
// have.
double studentWithin(double t, double freedom) {
  constexpr int kPieces = 128;
  const double end = std::atan(t / std::sqrt(freedom)), width = end / kPieces;
  const auto density = [&](double a) { return std::pow(std::cos(a), freedom - 1); };
  double sum = density(0) + density(end);
  for (int i = 1; i < kPieces; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * width);
  return sum * width / 3 / studentWhole(freedom);
}

// Newton from zero: the probability is concave in t, so no step goes past the answer.
double studentQuantile(double confidence, double freedom) {
  constexpr int kMaxSteps = 200;
  double t = 0;
  for (int i = 0; i < kMaxSteps; ++i) {
    const double a = std::atan(t / std::sqrt(freedom));
    const double density =
        std::pow(std::cos(a), freedom + 1) / (studentWhole(freedom) * std::sqrt(freedom));
    const double step = (confidence - studentWithin(t, freedom)) / density;
    if (!(step > 1e-10 * (1 + t)) || !std::isfinite(step)) break;
    t += step;
  }
  return t;
}

Maybe<ConfidenceInterval> welchRatio(std::span<const double> base, std::span<const double> head) {
  constexpr double kConfidence = 0.95;  // two-sided
  if (base.size() < 2 || head.size() < 2 || !allPositive(base) || !allPositive(head)) return {};
  const std::vector<double> b = logarithms(base), h = logarithms(head);
  const auto nb = static_cast<double>(b.size()), nh = static_cast<double>(h.size());
  const double vb = std::pow(sampleDeviation(b), 2) / nb, vh = std::pow(sampleDeviation(h), 2) / nh;
  const double centre = mean(h) - mean(b), error = std::sqrt(vb + vh);
  if (!(error > 0)) return ConfidenceInterval{std::exp(centre), std::exp(centre)};
  // Welch and Satterthwaite; at least the smaller side's own degrees of freedom, so at least 1.
  const double freedom = std::pow(vb + vh, 2) / (vb * vb / (nb - 1) + vh * vh / (nh - 1));
  const double reach = studentQuantile(kConfidence, std::max(1.0, freedom)) * error;
  return ConfidenceInterval{std::exp(centre - reach), std::exp(centre + reach)};
}

Comparison compareRuns(std::span<const RunNumbers> base, std::span<const RunNumbers> head,
                       std::span<const std::string> paths) {
  Comparison out{base.size(), head.size(), {}};
  for (const std::string& path : paths) {
    const std::vector<double> b = valuesOf(base, path), h = valuesOf(head, path);
    MetricComparison metric{path, {}, {}, {}, welchRatio(b, h)};
    if (!b.empty()) metric.base = median(b);
    if (!h.empty()) metric.head = median(h);
    if (allPositive(b) && allPositive(h))
      metric.ratio = std::exp(mean(logarithms(h)) - mean(logarithms(b)));
    out.metrics.push_back(std::move(metric));
  }
  return out;
}

}  // namespace stallprof
