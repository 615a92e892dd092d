// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <vector>

#include "advise/pages.h"

namespace stallprof {
namespace {

const std::vector<Page>& pages() {
  static const std::vector<Page> all = [] {
    std::vector<Page> list;
    for (const auto part : {extractPages(), transformPages(), loadPages(), computePages(),
                            commPages(), periodicPages(), hostPages()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

}  // namespace

std::optional<std::string_view> explain(std::string_view id) {
  for (const Page& page : pages())
    if (page.id == id) return page.text;
  return std::nullopt;
}

std::span<const std::string_view> explainedIds() {
  static const std::vector<std::string_view> ids = [] {
    std::vector<std::string_view> list;
    for (const Page& page : pages()) list.push_back(page.id);
    return list;
  }();
  return ids;
}

}  // namespace stallprof
