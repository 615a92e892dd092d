#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manual pages and completions know every command and every option that --help knows."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

STALLPROF = os.environ["STALLPROF"]


def said(*words):
    return subprocess.run([STALLPROF, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=True, universal_newlines=True, timeout=60).stdout


TOPICS = {"stallprof.toml": 5, "stallprof-gate.toml": 5, "stallprof-rules": 5,
          "stallprof-findings": 7}
VERBS = re.findall(r"^  stallprof ([a-z]+)", said("--help"), re.M)


def options(verb):
    """Every spelling that the command's --help gives: ["-h", "--help", ...]."""
    lines = re.findall(r"^  ((?:-[\w-]+,?)+)", said(verb, "--help"), re.M)
    return [name for line in lines for name in line.split(",")]


class Manual(unittest.TestCase):
    def test_there_are_commands_with_options(self):
        self.assertGreaterEqual(len(VERBS), 8)
        self.assertIn("--hz", options("run"))
        self.assertIn("-o", options("report"))
        self.assertEqual(said("help", "gate"), said("gate", "--help"))
        nothing = subprocess.run([STALLPROF, "help", "gaet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((nothing.returncode, nothing.stdout), (2, b""))

    def test_every_option_is_on_its_page(self):
        for verb in VERBS:
            page = said("manual", verb).replace("\\-", "-")
            for name in options(verb):
                self.assertRegex(page, r"\\fB%s\\fR" % re.escape(name), verb)
            self.assertIn(".SH DESCRIPTION", page, verb)
            self.assertIn(".SH EXIT STATUS", page, verb)

    def test_every_command_is_on_the_programs_page(self):
        page = said("manual").replace("\\-", "-")
        for verb in VERBS:
            self.assertIn("\\fBstallprof %s\\fR" % verb, page)
            self.assertIn("\\fBstallprof-%s\\fR(1)" % verb, page)

    def example(self, topic):
        """The lines of a page's example, as a file in a directory that goes with the test."""
        lines = said("manual", topic).replace("\\-", "-").splitlines()
        lines = lines[lines.index(".SH EXAMPLES"):]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, topic)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines[lines.index(".nf") + 1:lines.index(".fi")]) + "\n")
        return path

    def test_every_topic_has_a_page_of_its_section(self):
        for topic, section in TOPICS.items():
            page = said("manual", topic).replace("\\-", "-")
            self.assertTrue(page.startswith(".TH %s %d " % (topic.upper(), section)), page[:60])
            self.assertIn("\\fB%s\\fR(%d)" % (topic, section),
                          said("manual").replace("\\-", "-"))
        findings = said("manual", "stallprof-findings")
        for name in said("explain").split():
            self.assertIn(name + ": ", findings)
        for verb in VERBS:
            if options(verb) != ["-h", "--help"]:
                self.assertIn("[%s]: " % verb, said("manual", "stallprof.toml"))

    def test_the_examples_of_files_are_taken(self):
        env = dict(os.environ, STALLPROF_CONFIG=self.example("stallprof.toml"))
        policy, rules = self.example("stallprof-gate.toml"), self.example("stallprof-rules")
        for words, complaint in ((["explain", "--rules", rules], None),
                                 (["gate", "-c", policy, "--", "none.json"], "none.json"),
                                 (["report", "none.stallprof"], "none.stallprof")):
            done = subprocess.run([STALLPROF, *words], env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True, timeout=60)
            if complaint is None:
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("mycorp.decode", done.stdout)
            else:  # past its file, and on to what is not there
                self.assertIn(complaint, done.stderr)

    def test_a_command_that_is_not_there_has_no_page(self):
        done = subprocess.run([STALLPROF, "manual", "nosuch"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, b""))


def zsh_makes_of(line, home):
    """The line as zsh's editor has it after a tab, in a terminal of its own."""
    ask = ("zmodload zsh/zpty; zpty z zsh -f -i; "
           "zpty -w z 'PS1=; unsetopt zle_bracketed_paste; fpath=(%s $fpath); autoload -Uz compinit; "
           "compinit -D -u; path=(%s/bin $path); rehash; cd %s; "
           "show() { print -r -- \"<<$BUFFER>>\"; exit }; zle -N show; bindkey \"^X\" show; print rea\"\"dy'; "
           "zpty -r -m z out '*ready*'; zpty -w -n z $LINE$'\\t'$'\\C-x'; "
           "zpty -r -m z out '*<<*>>*'; print -r -- $out") % (home, home, home)
    done = subprocess.run(["zsh", "-f", "-c", ask], env=dict(os.environ, LINE=line, HOME=home, TERM="xterm"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=60)
    return re.search(r"<<(.*)>>", done.stdout, re.S).group(1) if "<<" in done.stdout else done


class Completion(unittest.TestCase):
    def complete(self, *words):
        """What bash would offer for the last of the words."""
        script = ('source /dev/stdin <<<"$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_stallprof; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words],
                              env=dict(os.environ, SCRIPT=said("completion", "bash")),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                              universal_newlines=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_offers_commands_options_and_values(self):
        self.assertEqual(sorted(self.complete("stallprof", "")),
                         sorted(VERBS + ["--help", "--version"]))
        self.assertEqual(self.complete("stallprof", "rep"), ["report"])
        for verb in VERBS:
            self.assertEqual(sorted(set(self.complete("stallprof", verb, "-"))),
                             sorted(set(options(verb)) - {"-h"}), verb)
        self.assertEqual(self.complete("stallprof", "report", "--format", "h"), ["html"])
        self.assertEqual(self.complete("stallprof", "report", "--format", "=", "h"), ["html"])
        self.assertEqual(self.complete("stallprof", "report", "--format", "="),
                         ["text", "json", "md", "html"])
        self.assertEqual(self.complete("stallprof", "explain", "transform.too"),
                         ["transform.too_few_workers"])
        self.assertEqual(self.complete("stallprof", "completion", ""), ["bash", "zsh", "fish"])

    def test_bash_completes_the_command_of_a_run(self):
        for words in (["--"], [], ["--no-python"], ["-o", "x", "--"], ["--hz", "=", "5"],
                      ["--color", "never"]):
            self.assertIn("bash", self.complete("stallprof", "run", *words, "bas"), words)
        self.assertEqual(self.complete("stallprof", "run", "--", "python3", "--fo"), [])

    def test_zsh_and_fish_know_everything(self):
        zsh, fish = said("completion", "zsh"), said("completion", "fish")
        for verb in VERBS:
            of_zsh = re.search(r"^    %s\) (.*?) ;;$" % verb, zsh, re.M | re.S).group(1)
            of_fish = "\n".join(line for line in fish.splitlines()
                                if "__fish_seen_subcommand_from %s'" % verb in line)
            self.assertIn("-a %s " % verb, fish)
            for name in set(options(verb)) - {"-h", "--help"}:
                self.assertRegex(of_zsh, r"(?<![\w-])%s(?![\w-])" % re.escape(name), verb)
                kind = "-l " + name[2:] if name.startswith("--") else "-s " + name[1:]
                self.assertRegex(of_fish, r" %s(?![\w-])" % re.escape(kind), verb)

    def test_fish_completes(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        asked = (("stallprof ", VERBS), ("stallprof export -f fol", ["folded"]),
                 ("stallprof explain transform.too", ["transform.too_few_workers"]),
                 ("stallprof gate --ba", ["--base-dir", "--baseline"]))
        with tempfile.TemporaryDirectory() as home:
            script = os.path.join(home, "stallprof.fish")
            with open(script, "w", encoding="utf-8") as file:
                file.write(said("completion", "fish"))
            for line, offered in asked:
                out = subprocess.run(["fish", "--no-config", "--command",
                                      "source $argv[1]; complete -C $argv[2]", script, line],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                                     universal_newlines=True, timeout=60,
                                     env={**os.environ, "HOME": home}).stdout
                got = [row.partition("\t") for row in out.splitlines()]
                self.assertEqual(sorted({word for word, _, _ in got}), sorted(offered))
                for word, _, said_of_it in got:
                    if word in VERBS or word.startswith("--"):
                        self.assertGreaterEqual(len(said_of_it), 10, word)

    def test_zsh_completes(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(os.path.join(home, "bin"))
            for name in ("frobnicate", "bin/frobnosticate"):
                with open(os.path.join(home, name), "w", encoding="ascii"):
                    pass
            os.chmod(os.path.join(home, "bin/frobnosticate"), 0o755)
            with open(os.path.join(home, "_stallprof"), "w", encoding="utf-8") as file:
                file.write(said("completion", "zsh"))
            for line, whole in (("stallprof compl", "stallprof completion"),
                                ("stallprof report --form", "stallprof report --format"),
                                ("stallprof run --no-py", "stallprof run --no-python"),
                                ("stallprof run -- frob", "stallprof run -- frobnosticate"),
                                ("stallprof run --hz 5 -- frob", "stallprof run --hz 5 -- frobnosticate"),
                                ("stallprof run frob", "stallprof run frobnosticate"),
                                ("stallprof run -- cat frob", "stallprof run -- cat frobnicate")):
                with self.subTest(line):
                    self.assertIn(whole, zsh_makes_of(line, home))

    def test_the_shells_find_nothing_wrong(self):
        for shell, check in (("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])):
            with self.subTest(shell):
                if not shutil.which(shell):
                    self.skipTest(shell + " is not installed")
                done = subprocess.run([shell, *check, "/dev/stdin"], input=said("completion", shell),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      universal_newlines=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
