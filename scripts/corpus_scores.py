# SPDX-License-Identifier: MIT
"""How rows of the corpus are scored: labels from measured gains, what a report says beside them, simple rules beside it.

A row is a dict: `causes` {name: {phases, findings}} as its program lists them, `gains` {name: times as fast without it},
`interval` {name: (low, high)} and `copies` of it (how many processes), `report` (the parts of the report that are scored,
`parts_of`), `predictions` [{speedup, low, high, measured, naive}]."""

import math
import statistics

WORTH_IT = 1.10   # times as fast: below it there is nothing to fix
SMALL = 1.05      # what reports themselves go by: with a fix that gains so much a run is not healthy
TIED = 1.10       # a gain so many times smaller than the largest is as good
CLEAR = 1.03      # an interval so far from a bound will not reach it in more rounds
WAITS = 0.10      # of the window: what the simple rules take for waiting
DATA = ("extract", "transform", "load")


def parts_of(report):
    """What of a report is scored; the machine's own findings are caveats."""
    keys = ("bound_by", "healthy", "confidence", "withheld", "tied")
    return {
        **{key: report["verdict"].get(key) for key in keys},
        "steps": report["steps"]["window_count"], "source": report["steps"]["source"], "rate": report["steps"]["rate_per_s"],
        "cores": report["run"]["host"]["cores_usable"], "stolen": report["resources"].get("steal_ratio"),
        "workers": next((loader["num_workers"] for loader in report["run"]["loaders"]), None),
        "phases": report["breakdown"]["phase_ratio"], "wait": report["breakdown"]["ratio"]["data_wait"],
        "ceilings": {c["stage"]: c["steps_per_s"] for c in reversed(report["ceilings"])},
        "findings": [{"id": f["id"], "confidence": f["confidence"], "share": f["share_ratio"]}
                     for f in report["findings"] if not f["id"].startswith("host.")],
    }


def label(gains):
    """The causes whose removal gains most: none where it is not worth it, several where they are tied."""
    largest = max(gains.values(), default=1.0)
    return sorted(cause for cause, gain in gains.items() if gain >= WORTH_IT and gain > largest / TIED)


def decided(row):
    """Is it known whether anything is worth it? Not where no interval lies above that bound and one
    reaches it. (Of earlier rows, whose
    interval is of one process of each variant, the middle decides.)"""
    lows, highs = zip(*row["interval"].values()) if row.get("copies") else ((), ())
    return not highs or max(highs) < WORTH_IT or max(lows) >= WORTH_IT


def is_clear(gains):
    """Would more rounds leave the label as it is? `gains`: {cause: (middle, low, high)}. Not where causes may be tied, which
    goes by the middle."""
    if all(high * CLEAR < WORTH_IT for _, _, high in gains.values()):
        return True
    best = max(gains, key=lambda cause: gains[cause][0])
    least = gains[best][1] / CLEAR
    return least > WORTH_IT and all(high * CLEAR < WORTH_IT or high < least / TIED
                                    for cause, (_, _, high) in gains.items() if cause != best)


def allowed(row, key, causes):
    return {name for cause in causes for name in row["causes"][cause][key]}


def kind_of_row(row):
    causes = label(row["gains"])
    return "healthy" if not causes else "one cause" if len(causes) == 1 else "tied"


def is_bound(finding):
    return finding["id"] in ("compute.cpu_bound", "compute.device_bound")


def said(row):
    """What the report says: `none` (it withholds its verdict), `healthy`, or the id of its first finding."""
    report = row["report"]
    if report["withheld"] or report["bound_by"] == "unknown" or not report["findings"]:
        return "none"
    return "healthy" if is_bound(report["findings"][0]) else report["findings"][0]["id"]


def phase_said(row):
    """`mixed`: of the first two findings."""
    report = row["report"]
    if report["bound_by"] != "mixed":
        return {report["bound_by"]}
    return {finding["id"].split(".")[0] for finding in report["findings"][:2]}


def verdict_of(row):
    """phase, cause and top3, each True, False, or None where the report says that it does not know."""
    causes, answer = label(row["gains"]), said(row)
    if answer == "none":
        return {"phase": None, "cause": None, "top3": None}
    if not causes:
        fine = answer == "healthy"
        return {"phase": fine, "cause": fine, "top3": fine}
    right = allowed(row, "findings", causes)
    first = [finding["id"] for finding in row["report"]["findings"][:3]]
    phases = phase_said(row) & allowed(row, "phases", causes)
    return {"phase": bool(phases), "cause": answer in right, "top3": bool(right & set(first))}


def share(values):
    """Right, asked: those that are not None count."""
    known = [value for value in values if value is not None]
    return sum(known), len(known)


def wilson(right, asked, z=1.96):
    """A 95 % interval of a share that was counted."""
    if asked == 0:
        return None
    p, n = right / asked, asked
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (centre - half) / (1 + z * z / n)), min(1.0, (centre + half) / (1 + z * z / n))


def scores(rows):
    """{name: (right, asked)}; of those whose label is decided."""
    undecided = sum(not decided(row) for row in rows), len(rows)
    rows = [row for row in rows if decided(row)]
    verdicts = [verdict_of(row) for row in rows]
    kinds = [kind_of_row(row) for row in rows]
    found = {"top-1 phase": share(v["phase"] for v in verdicts), "top-1 cause": share(v["cause"] for v in verdicts),
             "top-3 cause": share(v["top3"] for v in verdicts),
             "no verdict": (sum(v["cause"] is None for v in verdicts), len(rows)), "label not decided": undecided}
    for kind in ("healthy", "tied"):
        of_kind = [v["cause"] for v, k in zip(verdicts, kinds) if k == kind]
        found[f"blamed, {kind}"] = (sum(c is False for c in of_kind), len(of_kind))
    small = [v["cause"] for v, row, kind in zip(verdicts, rows, kinds)
             if kind == "healthy" and max(row["gains"].values(), default=1.0) < SMALL]
    found["blamed, healthy and below 1.05"] = (sum(c is False for c in small), len(small))
    for word in ("high", "medium", "low"):
        found[f"\"{word}\" is right"] = share(v["cause"] for v, row in zip(verdicts, rows) if row["report"]["confidence"] == word)
    return found


def errors(rows, by="speedup"):
    """Of predictions: |ln(predicted / measured)| of each."""
    return [abs(math.log(p[by] / p["measured"])) for row in rows for p in row["predictions"] if p.get(by)]


def quantile(values, q):
    """The smallest value that at least the share `q` of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)] if ordered else None


def prediction_scores(rows, by="speedup"):
    """How many, median and 90th percentile of the error, how many lie in their interval, how many have one. An assumed
    gain has only an upper bound."""
    found = errors(rows, by)
    bounded = [p for row in rows for p in row["predictions"] if by == "speedup" and p["high"] is not None]
    return {"count": len(found), "median": statistics.median(found) if found else None, "p90": quantile(found, 0.9),
            "within": sum((p["low"] or 0) <= p["measured"] <= p["high"] for p in bounded), "bounded": len(bounded)}


# ---- three simple rules, from the same reports ------------------------------------------------------------------------

def more_workers_finding(report):
    return "transform.too_few_workers" if report["workers"] else "transform.in_process"


def blame_the_wait(report):
    """A loop that waits for data is held up by its loader."""
    waits = report["wait"] > WAITS
    return ("transform", more_workers_finding(report)) if waits else ("compute", "healthy")


def workers_as_cores(report):
    """A loader with fewer workers than cores has too few; any other is fine."""
    few = report["workers"] is not None and report["workers"] < report["cores"]
    return ("transform", more_workers_finding(report)) if few else ("compute", "healthy")


def largest_phase(report):
    """What has most of the window, as if its removal had no effect on the rest; its usual finding."""
    usual = {"extract": "extract.storage_bandwidth", "transform": more_workers_finding(report), "load": "load.ipc",
             "periodic": "periodic.checkpoint", "comm": "comm.collective_bound", "sync": "compute.sync_points"}
    phase = max(usual, key=lambda name: report["phases"][name])
    if 1 / (1 - min(0.99, report["phases"][phase])) < WORTH_IT:
        return "compute", "healthy"
    return "compute" if phase == "sync" else phase, usual[phase]


RULES = {"blame the wait": blame_the_wait, "workers = cores": workers_as_cores, "no contention": largest_phase}


def rule_scores(rows, rule):
    """phase and cause, right and asked: a rule always answers."""
    phases, found = [], []
    for row in filter(decided, rows):
        causes, (phase, finding) = label(row["gains"]), rule(row["report"])
        phases.append(phase in (allowed(row, "phases", causes) or {"compute"}))
        found.append(finding in (allowed(row, "findings", causes) or {"healthy"}))
    return {"top-1 phase": share(phases), "top-1 cause": share(found)}


def without_contention(report, workers):
    """The gain of so many workers by ceilings alone: no core is shared, no batch late. None: not known."""
    ceilings, rate, now = report["ceilings"], report["rate"], report["workers"]
    made = next((ceilings[stage] for stage in DATA[:2] if stage in ceilings), None)
    if not rate or made is None or "compute" not in ceilings or now is None:
        return None
    step = 1 / ceilings["compute"]
    batch = now / made if now else max(0.0, 1 / made - step)
    return 1 / rate / max(step, batch / workers)
