// SPDX-License-Identifier: MIT
#include "stallprof/manual_prose.h"

#include <map>

namespace stallprof {

const std::vector<ManualSection>& proseOf(std::string_view verb) {
  static const std::map<std::string_view, std::vector<ManualSection>> kPages = {
      {"",
       {{"DESCRIPTION",
         "stallprof runs any training command unchanged, watches it and everything it starts, and "
         "ends with a ranked answer: where each step's time went (extract, transform, load, "
         "compute), what holds the pipeline back, what each fix would gain, and how to check it.\n"
         "\n"
         "The recording that run leaves behind is a directory, NAME.stallprof. It can be read "
         "while the command still runs, after any kill, and on another machine."},
        {"CONFIGURATION",
         "What you would type each time can stand in a file: stallprof.toml in the working "
         "directory, else the [tool.stallprof.COMMAND] tables of pyproject.toml there, and below "
         "both $XDG_CONFIG_HOME/stallprof/config.toml (~/.config). A table is a command, a key the "
         "long name of one of its options; words on the command line win. An unknown key is an "
         "error that names file and line.\n"
         "\n"
         "  [run]\n"
         "  name = \"runs/%s.%t\"\n"
         "  report = [\"text\", \"html\"]\n"
         "  price = 2.5\n"
         "  [report]\n"
         "  color = \"never\""},
        {"ENVIRONMENT",
         "STALLPROF_DISABLE=1 makes run a plain exec of the command.\n"
         "\n"
         "STALLPROF_CONFIG names one configuration file to read instead of all; none reads "
         "none.\n"
         "\n"
         "NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, decide on colour where --color says "
         "auto. COLUMNS sets a report's width.\n"
         "\n"
         "RANK, SLURM_PROCID and OMPI_COMM_WORLD_RANK name the rank in a recording's name."}}},
      {"run",
       {{"DESCRIPTION",
         "Starts COMMAND with its standard streams, terminal, process group, signals, limits and "
         "environment, records it, and prints the report on standard error when it has ended. "
         "Nothing is written to standard output. Nothing is stopped or traced, and no root is "
         "needed; kill -9 of stallprof leaves the command running and the recording readable.\n"
         "\n"
         "The recording is a new directory: what exists is never overwritten.\n"
         "\n"
         "Inside the command differ: PYTHONPATH, STALLPROF_EVENTS and STALLPROF_RECORDING, its "
         "parent's process id, and the hook's modules in a Python that loads PyTorch, TensorFlow "
         "or Keras; with --nvtx, --map or --gpu NVTX_INJECTION64_PATH, with --gpu "
         "STALLPROF_ACTIVITY and CUDA_INJECTION64_PATH, unless another tool has them."},
        {"RANGES AND MARKS",
         "What the program says of itself wins over all that is seen of it. NVTX ranges named "
         "after a phase (extract, transform, load, compute, sync, comm, periodic, other) are that "
         "phase on their thread, inner ones over outer ones; one named step, or step and a number "
         "(\"step 12\"), is a step. --map says what other names mean, and is kept in the "
         "recording; a range's name ends at the last = of the word, and NAME* is all that begin "
         "so. Of two maps that fit the later counts. Without a range for steps, one begins where "
         "data follows compute.\n"
         "\n"
         "A C or C++ program without NVTX marks them by stallprof/annotate.h, which is installed "
         "in include; these marks are always recorded."},
        {"EXIT STATUS",
         "The command's own. Where it died of a signal, stallprof dies of the same. Before it "
         "started: 125 where stallprof itself failed, 126 where the command cannot be executed, "
         "127 where it is not found."},
        {"EXAMPLES",
         "  stallprof run -- python train.py --batch-size 64\n"
         "  stallprof run --report html -- torchrun --nproc-per-node 8 train.py"}}},
      {"attach",
       {{"DESCRIPTION",
         "Records a program that runs already, with every process it has started or starts, until "
         "it ends, --for is over, or Ctrl-C or SIGTERM reaches stallprof; then the report. The "
         "program is only looked at: nothing is put into it, no signal goes to it, and it never "
         "stops for us.\n"
         "\n"
         "What the hook tells a run exactly is missing: loaders, batches, optimizer steps. Steps "
         "are inferred from Python stacks, and a child that lives less than a fifth of a second "
         "may not be seen. What happened before is not told.\n"
         "\n"
         "An ordinary user sees processes of the same user. Where kernel.yama.ptrace_scope is 1 "
         "or more, as many distributions set it, that leaves out Python stacks and what system "
         "call a thread waits in: attach as root, set it to 0, or start the program with run. "
         "Said when it applies, and in the report."},
        {"EXIT STATUS",
         "0, however the program ended; 1 where it cannot be recorded, 2 for wrong words."},
        {"EXAMPLES",
         "  stallprof attach -p 4711\n"
         "  stallprof attach --for 60 --report html -p \"$(pgrep -of train.py)\""}}},
      {"report",
       {{"DESCRIPTION",
         "Reads a recording and says what it found. A recording that is still being written is "
         "reported on up to now. The JSON follows report.schema.json, which is installed."},
        {"EXIT STATUS", "0, or 1 where the recording cannot be read, 2 for wrong words."},
        {"EXAMPLES",
         "  stallprof report --format html -o page.html train.stallprof\n"
         "  stallprof report --map 'forward*=compute' --map augment=transform train.stallprof"}}},
      {"compare",
       {{"DESCRIPTION",
         "Shows two sets of runs side by side, with an interval where there are enough of them. "
         "Runs are recordings or reports in JSON. It never fails on a difference: gate does."},
        {"EXIT STATUS", "0, or 1 where a run cannot be read, 2 for wrong words."},
        {"EXAMPLES",
         "  stallprof compare before.stallprof after.stallprof\n"
         "  stallprof compare base-*.stallprof -- head-*.stallprof"}}},
      {"gate",
       {{"DESCRIPTION",
         "Judges whether a change may pass. The run is what repeats, not the step: with five or "
         "more runs a side it says regressed, improved, same, or inconclusive with the change that "
         "these runs could have shown; with fewer it is advice. The policy is stallprof-gate.toml "
         "where there is one; without it the step time's median decides, at 3 % and more.\n"
         "\n"
         "With --ab N the gate makes the runs itself: N of each side, in the order base, head, "
         "head, base and so on, so that whatever drifts on the host falls on both. All options "
         "come before the base's command, which ends at the first bare --; without one the same "
         "command is run, in the directory that --base-dir names. Recordings, and what the "
         "commands print, are kept in a new directory. A command that fails ends the turns.\n"
         "\n"
         "With --most M it makes more runs, up to M a side, while it is unsure of something that "
         "can "
         "fail. After how many runs it looks is fixed before the first: N, then half as many again "
         "each time. Every look tests at its part of the policy's alpha (Bonferroni), so that all "
         "of them together cry wolf no more often than one.\n"
         "\n"
         "Sides are compared by the order of their runs (Mann and Whitney's exact test), the "
         "change "
         "is the median of all differences (Hodges and Lehmann): one run that a neighbour slowed "
         "counts no more than one a little slow. Where so few runs cannot reach alpha by their "
         "order, means are compared (Welch); the JSON output says which, in \"by\"."},
        {"EXIT STATUS",
         "0 pass, 1 regression or a budget overstepped, 2 wrong words or an unknown metric, 3 not "
         "comparable (another host), or inconclusive where the policy says so, 4 a run's command "
         "failed."},
        {"EXAMPLES",
         "  stallprof gate --report junit=gate.xml base-*.stallprof -- head-*.stallprof\n"
         "  stallprof gate --ab 8 --base-dir ../main -- python train.py\n"
         "  stallprof gate --ab 5 --most 12 --base-dir ../main -- python train.py\n"
         "  stallprof gate --ab 8 python train.py --workers 2 -- python train.py --workers 4\n"
         "  stallprof gate --baseline save perf/base main-*.stallprof"}}},
      {"export",
       {{"DESCRIPTION",
         "Writes a recording for other tools, or checks a file written for them. Long recordings "
         "are bounded: representative steps in full, the rest merged, of csv's steps past some "
         "50,000 a part, unless --detail full is asked for."},
        {"EXIT STATUS",
         "0, or 1 where the recording cannot be read or --check found defects, 2 for wrong "
         "words."},
        {"EXAMPLES", "  stallprof export -f chrome -o trace.json train.stallprof"}}},
      {"import",
       {{"DESCRIPTION",
         "Makes a recording of a trace that PyTorch's profiler wrote, so that every other command "
         "takes it. What such a trace does not tell, the report calls not measured: worker "
         "processes, CPU time, memory, files. How many workers the loader had is asked for."},
        {"EXIT STATUS", "0, or 1 where the trace cannot be read, 2 for wrong words."},
        {"EXAMPLES", "  stallprof import --workers 4 -o train.stallprof rank0.pt.trace.json"}}},
      {"explain",
       {{"DESCRIPTION",
         "Prints what a finding means, by which rule it is found, what helps, and when it is "
         "wrong. Without an id, lists them all. --rule and --rules are about the rules that give a "
         "stack its phase."},
        {"EXIT STATUS", "0, or 2 where there is no such id."},
        {"EXAMPLES", "  stallprof explain transform.too_few_workers"}}},
      {"top",
       {{"DESCRIPTION",
         "Reads a recording while run writes it, and shows the last half minute anew each second: "
         "pace, where time goes, the first finding, what the recorder costs. It reads files only; "
         "nothing of it reaches the run. Its own share of a core is shown, and kept low: where a "
         "look is dear, looks become rarer. q or Ctrl-C leaves. On a pipe or a dumb terminal each "
         "look is a line.\n"
         "\n"
         "The recording is named by its directory, by any process of the run, or not at all where "
         "only one is being written."},
        {"EXIT STATUS",
         "0 when left or when the run has ended, 1 where there is nothing to look at, 2 for wrong "
         "words."},
        {"EXAMPLES",
         "  stallprof top\n"
         "  stallprof top --once train.stallprof"}}},
      {"doctor",
       {{"DESCRIPTION",
         "Says for every source what this host lets stallprof see, and names the one setting that "
         "would show more. Changes nothing."},
        {"EXIT STATUS", "0, or 2 for wrong words."}}},
      {"completion",
       {{"DESCRIPTION",
         "Prints a completion script. Packages install them; without one:\n"
         "\n"
         "  eval \"$(stallprof completion bash)\"      # in ~/.bashrc\n"
         "  source <(stallprof completion zsh)       # in ~/.zshrc, after compinit\n"
         "  stallprof completion fish | source       # in ~/.config/fish/config.fish"},
        {"EXIT STATUS", "0, or 2 for wrong words."}}},
  };
  static const std::vector<ManualSection> kNone;
  const auto found = kPages.find(verb);
  return found == kPages.end() ? kNone : found->second;
}

}  // namespace stallprof
