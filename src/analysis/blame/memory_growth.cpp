// SPDX-License-Identifier: MIT
#include "analysis/blame/memory_growth.h"

#include <algorithm>
#include <vector>

namespace stallprof {
namespace {

constexpr std::size_t kPerThird = 3;  // samples: fewer have no median to speak of

struct Point {
  Nanos at;
  double bytes;
};

struct Third {
  double median = 0, highest = 0, lowest = 0;
  Nanos middle{};
};

Third thirdOf(const Point* first, std::size_t count) {
  std::vector<double> bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(first[i].bytes);
  std::sort(bytes.begin(), bytes.end());
  return {bytes[count / 2], bytes.back(), bytes.front(), first[count / 2].at};
}

}  // namespace

double steadyGrowth(const ProcessLife& process, Nanos settled) {
  const auto& rows = process.usage;
  if (rows.empty()) return 0;
  const Nanos from = std::max(settled, rows.front().at + (rows.back().at - rows.front().at) / 3);
  std::vector<Point> points;
  for (const auto& row : rows)
    if (row.at >= from && row.data.residentBytes >= 0 && row.data.sharedBytes >= 0)
      points.push_back(
          {row.at, static_cast<double>(row.data.residentBytes - row.data.sharedBytes)});
  const std::size_t third = points.size() / 3;
  if (third < kPerThird) return 0;
  const Third begin = thirdOf(points.data(), third), middle = thirdOf(&points[third], third),
              end = thirdOf(&points[points.size() - third], third);
  const double early = middle.median - begin.median, late = end.median - middle.median;
  const bool steady = early > 0 && late >= early / 2;
  if (!steady || end.median <= begin.highest || end.lowest <= begin.median) return 0;
  return (early + late) / seconds(end.middle - begin.middle);
}

}  // namespace stallprof
