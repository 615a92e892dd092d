// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof {

// all.m += part.m for each of the members: addMembers<&Split::wait, &Split::load>(all, part).
template <auto... members, class T>
void addMembers(T& all, const T& part) {
  ((all.*members += part.*members), ...);
}

}  // namespace stallprof
