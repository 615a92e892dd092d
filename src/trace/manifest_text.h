// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof::text {

// THE list of what a manifest line can say, once, for both directions.
template <class M, class V>
void manifestFields(M& m, V&& v) {
  v("tool", m.toolVersion), v("directory", m.directory), v("started", m.startedMonotonic),
      v("started_realtime", m.startedRealtime), v("front", m.frontPid),
      v("recorder", m.recorderPid), v("hz", m.hz), v("budget", m.budget), v("host", m.host.name),
      v("kernel", m.host.kernel), v("cpu", m.host.cpuModel), v("boot", m.host.bootId),
      v("cores_online", m.host.coresOnline), v("cores_usable", m.host.coresUsable),
      v("memory", m.host.memoryBytes), v("page", m.host.pageBytes),
      v("ticks", m.host.ticksPerSecond);
}

}  // namespace stallprof::text
