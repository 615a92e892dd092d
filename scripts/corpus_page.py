# SPDX-License-Identifier: MIT
"""The page of scores of the corpus, reports/accuracy.md, from its rows."""

import collections
import math

import corpus_scores as scores
import turns

HEAD = ("| program | severity | libraries | label: gain | other gains | first finding | bound by | data | compute | overheads | "
        "predicted, measured | |\n" + "|---" * 12 + "|")
SIZES = (1.1, 1.5, 2, math.inf)   # bounds of predicted gains, whose errors are counted apart
# Why a run ended before all rows, by its commit.
STOPPED = {
    "b3222228": "the recorder took 1 to 3 samples a second, and said what they were too few to say",
    "aebf8c4f": "its bounds were missed, whatever the rows that were left",
    "f31a14f9": "its time was over",
    "48ec81b7": "after severity 1 and eight rows of 3: readings of the source found faults of steps and of samples a second",
    "b9694746": "after severity 2: readings of the source found faults, of which that of ceilings concerns programs that evaluate",
    "c5ef21ea": "its host could be had no longer",
    "a5c131d7": "after severities 2 and 3: readings of the source found faults of gains, of ranks and of loaders that are zipped",
    "4133ac34": "after those programs that make batches in their loop, at severity 2: what is assumed of making them beside it was "
                "first tried here",
    "ce79e264": "a reading found that an evaluation on the training's own iterator was cut to nothing",
}
METHOD = """Small real programs (`tests/corpus`), each with causes that an option takes away, at three severities: without the
cause that it is about a program is meant to be about 1.15, 1.5 and 3 times as fast. What the label of a row is, is measured
and not argued: the program runs without each of its causes, with no recorder, on the same host; the cause whose removal
gains most is the label, several where the best are within 10 %, none where nothing gains 10 % (`healthy`). All variants of a
row are alive at once and run by turns of half a second, the others stopped, until the 90 % interval of each gain (in
brackets) is within 3 %, or 3 % away from all that the label goes by (of a gain that was predicted within 3 %), or for 30
rounds: the host's speed drifts by a third for ten seconds at a time, with nothing in /proc that shows it. Where a section says so, rounds in which the hypervisor took over 5 % of a CPU from any turn are not
counted. Each variant is five processes, and an interval is of processes and rounds: the same program is up to 15 % faster or
slower by where its memory lies. A recording is of 15 s of training. (Up to aebf8c4f processes were three, of which an
interval covers less than 90 % where they differ more than rounds, rounds 18 at most, and a recording was of 6 s.)
Where no interval lies above 1.10 and one reaches it, it is not known whether the program is healthy: such a row's label
is *not decided*, and it is counted apart. Which cause, and whether causes are tied, goes by the middle. (Up to commit
09a4bac a variant was one process and 16 rounds, its interval of rounds alone, and the middle decided: labels of some rows
changed from run to run, and their misses stay here.) (Rows without brackets, up to commit 560e5f2, had each variant once,
one after another.) A program lists
only which findings and which phase a right report would name for each of its causes. `right` of those asked; a report that
gives no verdict is not asked, and counted apart. *Blamed*: a healthy program has a cause named, a tied one another than
those tied. A report calls a run healthy where no fix gains 5 %, a label where no removal gains 10 %: a cause of 1.05 to 1.10
that is named counts as blame, and healthy programs below 1.05 are counted once more, apart. (The second count is newer than
the miss of `regex_tokens` at a5c131d7; the first is what it was.) Predictions are those that a report has from replaying its measured times, each tried by the program with that setting
or without that cause; and, of loops that make their batches themselves, those that it assumes from its shares of a thread or
a process that makes them two ahead, each tried by the program with one. The rules: a loop that waits over 10 % for data lacks workers; a loader with fewer workers than
cores lacks them; what has the largest share of the time is the cause, and more workers gain what ceilings say with no
core shared. A third of the programs is sealed (`tests/corpus/sealed.txt`): none of
them had been recorded before its first score, in the earliest section here, which alone is blind. (Ten programs of a
first third, by a hash of their names, were seen while the corpus was made: those are open now.) Shares are the
report's and, after the comma, the program's own timers'; more than 5 points apart is in bold. A row that misses stays.
"""


def counted(pair):
    right, asked = pair
    if asked == 0:
        return "-"
    low, high = scores.wilson(right, asked)
    return f"{right} of {asked} ({right / asked:.0%}; {low:.0%} to {high:.0%})"


def table(head, lines):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(line) + " |" for line in lines), ""]


def score_table(groups):
    """A column for each group of rows that has any."""
    groups = {name: rows for name, rows in groups.items() if rows}
    columns = [scores.scores(rows) for rows in groups.values()]
    lines = [["rows", *(str(len(rows)) for rows in groups.values())]]
    lines += [[name, *(counted(column[name]) for column in columns)] for name in columns[0]]
    return table(["", *groups], lines)


def percent(value):
    return "-" if value is None else f"{value:.1%}"


def prediction_line(name, rows, by="speedup"):
    s = scores.prediction_scores(rows, by)
    return [name, str(s["count"]), percent(s["median"]), percent(s["p90"]), counted((s["within"], s["bounded"]))]


def by_kind(rows):
    kinds = collections.defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
    return dict(sorted(kinds.items()))


def with_predictions(rows, chosen):
    return [{**row, "predictions": [p for p in row["predictions"] if chosen(p)]} for row in rows]


def by_size(rows):
    """The rows with those predictions alone that are of such a gain."""
    below = 0
    for bound in SIZES:
        yield (f"gains to {bound}" if bound < math.inf else f"gains over {below}",
               with_predictions(rows, lambda p: below < p["speedup"] <= bound))
        below = bound


def is_assumed(prediction):
    return prediction.get("basis") == "assumed"   # earlier rows have replayed ones alone


def assumed_table(rows):
    """Of batches made beside the loop."""
    rows = with_predictions(rows, is_assumed)
    lines = [prediction_line(f"in a {name}", with_predictions(rows, lambda p: p["change"] == name)) for name in ("thread", "process")]
    head = ["assumed predictions: batches made", "tried", "median error", "90th percentile", "up to what was said"]
    return table(head, [*lines, prediction_line("all", rows)]) if scores.errors(rows) else []


def prediction_table(rows):
    rows = with_predictions(rows, lambda p: not is_assumed(p))
    lines = [prediction_line(name, some) for name, some in [*by_kind(rows).items(), *by_size(rows)] if scores.errors(some)]
    lines += [prediction_line("all", rows)]
    workers = with_predictions(rows, lambda p: p["naive"])
    lines += [prediction_line("numbers of workers", workers), prediction_line("those, without contention", workers, "naive")]
    return table(["replayed predictions", "tried", "median error", "90th percentile", "in their 90 % interval"], lines)


def rule_table(rows):
    own = scores.scores(rows)
    lines = [["this report", counted(own["top-1 phase"]), counted(own["top-1 cause"])]]
    for name, rule in scores.RULES.items():
        found = scores.rule_scores(rows, rule)
        lines.append([name, counted(found["top-1 phase"]), counted(found["top-1 cause"])])
    return table(["from the same data", "top-1 phase", "top-1 cause"], lines)


def confusion(rows):
    """Phases of labels against phases that were named; a row counts once, where it is right there."""
    counts = collections.Counter()
    for row in filter(scores.decided, rows):
        causes = scores.label(row["gains"])
        true = scores.allowed(row, "phases", causes) or {"healthy"}
        answer = scores.said(row)
        named = {answer} if answer in ("none", "healthy") else scores.phase_said(row)
        both = sorted(true & named)
        counts[(both or sorted(true))[0], (both or sorted(named))[0]] += 1
    names = sorted({true for true, _ in counts} | {named for _, named in counts})
    lines = [[true, *(str(counts[true, named] or "") for named in names)]
             for true in names if any(counts[true, n] for n in names)]
    return table(["label, down; named, across", *names], lines)


def shares(row):
    """Cells of data, compute and overheads."""
    seen, own = row["report"]["phases"], row["own"]
    parts = {"data": scores.DATA, "compute": ("compute", "sync", "comm"), "periodic": ("periodic",)}
    for name, phases in parts.items():
        part = sum(seen[phase] for phase in phases)
        if own.get(name) is None:
            yield percent(part)
        else:
            text = f"{percent(part)}, {percent(own[name])}"
            yield text if abs(part - own[name]) <= 0.05 else f"**{text}**"


def outcome(row):
    if not scores.decided(row):
        return "label not decided"
    verdict = scores.verdict_of(row)
    if verdict["cause"] is None:
        return "no verdict"
    return {(True, True): "ok", (True, False): "cause ok", (False, True): "phase ok"}.get(
        (verdict["cause"], verdict["phase"]), "MISSED")


def first_finding(report):
    first = report["findings"][0] if report["findings"] else None
    return f"`{first['id']}` {first['share']:.1%}, {first['confidence']}" if first else "none"


def line(row):
    causes, gains, report = scores.label(row["gains"]), row["gains"], row["report"]
    tried = "; ".join(f"{p['change']}: {p['speedup']:.2f}x" + bounds(p) +
                      f", {p['measured']:.2f}x" for p in row["predictions"])
    if not scores.decided(row):
        causes = []
    named = " + ".join(gained(row, cause) for cause in causes) or ("healthy" if scores.decided(row) else "not decided")
    others = ", ".join(gained(row, cause) for cause in gains if cause not in causes)
    return ["`" + row["program"] + "`" + (", sealed" if row["sealed"] else ""), str(row["severity"]), row["have"], named, others,
            first_finding(report), str(report["bound_by"]),
            *shares(row), tried, outcome(row)]


def bounds(prediction):
    low, high = prediction["low"], prediction["high"]
    return f" ({low:.2f} to {high:.2f})" if low else f" (up to {high:.2f})" if high else ""


def gained(row, cause):
    interval = row.get("interval", {}).get(cause)
    return f"{cause}: {row['gains'][cause]:.2f}x" + (f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else "")


def stolen(rows):
    """What the hypervisor took of the host while these were measured."""
    rows = [row for row in rows if "rounds_run" in row]
    if not rows:
        return []
    run, counted_rounds = (sum(row[key] for row in rows) for key in ("rounds_run", "rounds"))
    again = [f"`{row['program']}` ({report['stolen']:.0%} taken; {first_finding(report)}"
             f"{', no verdict' if report['withheld'] else ''})" for row in rows for report in row["noisy"]]
    left = [f"`{row['program']}` {row['report']['stolen']:.0%}" for row in rows if (row["report"]["stolen"] or 0) > 0.02]
    least = turns.ROUNDS[0] if all("copies" in row for row in rows) else 8
    noisy = [f"`{row['program']}`" for row in rows if row["rounds"] == row["rounds_run"] == turns.MAX_ROUNDS]
    return [f"Rounds not counted, as the hypervisor took over 5 % of a CPU in them: {run - counted_rounds} of {run}; of rows with "
            f"fewer than {least} others all are: {', '.join(noisy) or 'none'}. Recorded "
            f"again, as it took over 5 % of all CPUs: {'; '.join(again) or 'none'}. It took over 2 % of the CPUs in the "
            f"recordings of these rows: {', '.join(left) or 'none'}.\n"]


def section(commit, rows, reasons):
    opened, sealed = [r for r in rows if not r["sealed"]], [r for r in rows if r["sealed"]]
    out = [f"## At {commit}: {len(rows)} rows of {len({row['program'] for row in rows})} programs\n"]
    out += [f"Host: {host}.\n" for host in sorted({row["host"] for row in rows if "host" in row})]
    out += [f"Stopped: {STOPPED[commit]}.\n"] if commit in STOPPED else []
    out += stolen(rows)
    out += score_table({"open": opened, "sealed": sealed, "all": rows})
    out += score_table(by_kind(rows)) + rule_table(rows) + prediction_table(rows) + assumed_table(rows) + confusion(rows)
    out += [HEAD, *("| " + " | ".join(line(row)) + " |" for row in sorted(rows, key=lambda r: (r["program"], r["severity"]))), ""]
    missed = {row["program"] for row in rows if outcome(row) not in ("ok", "label not decided")}
    notes = [f"- `{name}`: {reasons[name]}" for name in sorted(missed) if name in reasons]
    return out + (["Why rows miss:", *notes, ""] if notes else [])


def page(rows, head, reasons):
    """`rows`: in the order in which they were measured; each commit's are a section, the last one's first."""
    sections = collections.defaultdict(list)
    for row in rows:
        sections[row["commit"]].append(row)
    parts = ["# Accuracy on a corpus of small programs\n", head, METHOD]
    for commit in reversed(sections):
        parts += section(commit, sections[commit], reasons)
    return "\n".join(parts)
