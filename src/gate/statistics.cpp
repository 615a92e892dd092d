// SPDX-License-Identifier: MIT
#include "gate/statistics.h"

#include <algorithm>
#include <cmath>

#include "analysis/compare.h"
#include "base/stats.h"
#include "gate/rank_test.h"

namespace stallprof {
namespace {

// "Nine of ten": the power at which the detectable effect is stated.
constexpr double kPower = 0.90;

// The t that a Student's T is above with probability `tail`.
double upperQuantile(double tail, double freedom) { return studentQuantile(1 - 2 * tail, freedom); }

double upperTail(double t, double freedom) {
  const double half = studentWithin(std::abs(t), freedom) / 2;
  return t >= 0 ? std::max(0.0, 0.5 - half) : 0.5 + half;
}

// No spread at all: what differs, differs.
Shift certain(double size, double floor) {
  Shift shift{size, size, size, 0.5, 0.5, floor, 0};
  if (size > 0) {
    shift.worse = 0;
    shift.better = 1;
  }
  if (size < 0) {
    shift.worse = 1;
    shift.better = 0;
  }
  return shift;
}

// A verdict needs the shift above both `reach` and `floor`.
double detectable(double reach, double floor, double error, double freedom) {
  return std::max(reach, floor) + upperQuantile(1 - kPower, freedom) * error;
}

// By the order of the runs. What error such bounds speak of is that of means of runs with their
// noise, and the noise is that: one run far off is in neither.
Shift ordered(const RankTest& test, double alpha, double floor, double base, double head) {
  const double reach = (test.high - test.low) / 2, freedom = base + head - 2;
  const double error = reach / upperQuantile(alpha, freedom);
  Shift shift{test.size, test.low, test.high, test.worse, test.better, 0, 0};
  shift.detectable = detectable(reach, floor, error, freedom);
  shift.noise = error / std::sqrt(1 / base + 1 / head);
  shift.byOrder = true;
  return shift;
}

}  // namespace

Maybe<std::vector<double>> onScale(std::span<const double> values, const Scale& scale) {
  std::vector<double> out;
  for (const double v : values) {
    if (!std::isfinite(v) || (!scale.points && v <= 0)) return {};
    out.push_back((scale.higherIsWorse ? 1 : -1) * (scale.points ? v : std::log(v)));
  }
  return out;
}

double Scale::shiftOf(double change) const { return points ? change : std::log1p(change); }

double Scale::shownOf(double shift) const {
  const double shown = higherIsWorse ? shift : -shift;
  return points ? shown : std::expm1(shown);
}

Maybe<Shift> measureShift(std::span<const double> base, std::span<const double> head,
                          const Scale& scale, double alpha, double floor) {
  if (base.size() < 2 || head.size() < 2) return {};
  const auto b = onScale(base, scale), h = onScale(head, scale);
  if (!b || !h) return {};
  const auto nb = static_cast<double>(b->size()), nh = static_cast<double>(h->size());
  const double sb = std::pow(sampleDeviation(*b), 2), sh = std::pow(sampleDeviation(*h), 2);
  const double vb = sb / nb, vh = sh / nh, error = std::sqrt(vb + vh);
  const double size = mean(*h) - mean(*b);
  // Less spread than doubles carry is none: equal runs must not differ by their last bit.
  const double scaleOfThem = std::abs(mean(*b)) + std::abs(mean(*h));
  if (error <= 1e-14 * scaleOfThem)
    return certain(std::abs(size) <= 1e-12 * scaleOfThem ? 0 : size, floor);
  if (const auto test = rankTest(*b, *h, alpha)) return ordered(*test, alpha, floor, nb, nh);
  // Welch and Satterthwaite; never under the smaller side's own freedom.
  const double freedom = std::max(std::min(nb, nh) - 1,
                                  std::pow(vb + vh, 2) / (vb * vb / (nb - 1) + vh * vh / (nh - 1)));
  const double reach = upperQuantile(alpha, freedom) * error;
  Shift shift;
  shift.size = size;
  shift.low = size - reach;
  shift.high = size + reach;
  shift.worse = upperTail(size / error, freedom);
  shift.better = upperTail(-size / error, freedom);
  shift.detectable = detectable(reach, floor, error, freedom);
  shift.noise = std::sqrt((sb * (nb - 1) + sh * (nh - 1)) / (nb + nh - 2));
  return shift;
}

}  // namespace stallprof
