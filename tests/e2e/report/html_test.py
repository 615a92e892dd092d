#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The HTML report: it says what the JSON report says, it is one page that needs nothing else, and
no name from a job becomes markup, script or a control byte, in this or any other sink. With a
headless Chromium (CHROMIUM or on the PATH) the page is loaded too, and what it asks for is
watched; without it the page is read by Python's own parser alone."""
import html.parser
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

STALLPROF = os.environ["STALLPROF"]
DUMP = os.environ["DUMP"]
SAMPLE = os.environ["SAMPLE_REPORT"]
GOLDEN = os.environ["GOLDEN"]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SAMPLES = ["nothing", "input_bound", "healthy", "no_steps", "damaged", "tied", "hostile"]
VOID = {"meta", "br", "hr", "img", "input", "link"}  # of HTML: never closed
LARGEST = 2 << 20

# Every byte but NUL and newline (a name in /proc ends at them), escapes, bidi, markup, quotes.
HOSTILE = (bytes(range(1, 10)) + bytes(range(11, 256))
           + b"\x1b]0;owned\x07\x1b[2J\xe2\x80\xae\xe2\x80\x8b\xe2\x80\xa8"
           + b"</title></style></script><script>document.title='owned'</script>"
           + b"<img src=x onerror=\"document.title='owned'\">'\"><svg/onload=alert(1)>{{7*7}}&lt;")
# What must never leave: C0 but newline, DEL, C1, bidirectional and zero-width controls.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069"
                     "\ufeff\U000e0000-\U000e007f]")


def quoted(raw):
    """Bytes as a string of the trace's text form."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else "\\x%02x" % b
                         for b in raw) + '"'


def sample(name, form):
    return subprocess.run([SAMPLE, name, form], check=True, stdout=subprocess.PIPE,
                          timeout=120).stdout


class Page(html.parser.HTMLParser):
    """What a page holds: elements, attributes, and the figures with their paths."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.figures, self.attributes, self.ids = [], [], [], set()
        self.open, self.unbalanced, self.text = [], [], []
        self.feed(text)
        self.close()
        self.unbalanced += self.open

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if "id" in values:
            self.ids.add(values["id"])
        if "data-path" in values:
            self.figures.append((values["data-path"], values.get("data-value")))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:  # an empty element of SVG
            self.open.pop()

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.unbalanced.append("/" + tag)

    def handle_data(self, data):
        self.text.append(data)


def value_at(report, path):
    for name in path.split("."):
        report = report[int(name)] if isinstance(report, list) else report[name]
    return report


def outside_code(markdown):
    """Markdown without its code: a run of backticks ends at the next run of that length."""
    out = []
    while markdown:
        if markdown[0] == "\\":
            markdown = markdown[2:]
            continue
        ticks = re.match("`*", markdown).group()
        closing = ticks and re.search("(?<!`)%s(?!`)" % ticks, markdown[len(ticks):])
        if closing:
            markdown = markdown[len(ticks) + closing.end():]
            continue
        out.append(markdown[:len(ticks) or 1])
        markdown = markdown[len(ticks) or 1:]
    return "".join(out)


class Base(unittest.TestCase):
    def agrees(self, page, report):
        self.assertTrue(page.figures)
        for path, value in page.figures:
            expected = value_at(report, path)
            if value is None:
                self.assertIsNone(expected, path)
            elif isinstance(expected, str):
                self.assertEqual(value, expected, path)
            else:
                self.assertEqual(float(value), expected, path)

    def is_one_safe_page(self, data):
        text = data.decode("utf-8")
        self.assertLess(len(data), LARGEST)
        self.assertIsNone(CONTROL.search(text))
        self.assertEqual(text[:15], "<!DOCTYPE html>")
        page = Page(text)
        self.assertEqual(page.unbalanced, [])
        known = set("""html head meta title style body header main footer section article nav div
            span p a b i h1 h2 h3 h4 ul li dl dt dd table thead tbody tfoot tr th td code pre small
            time figure figcaption details summary svg path rect line""".split())
        self.assertLessEqual(set(page.tags), known)
        for tag, name, value in page.attributes:
            self.assertFalse(name.startswith("on"), (tag, name))
            self.assertNotIn(name, ("src", "srcset", "xlink:href", "data", "action", "srcdoc"))
            if name == "href":
                self.assertIn(value[1:], page.ids)
        style = re.search("<style>(.*?)</style>", text, re.S).group(1)
        self.assertNotRegex(style, r"url\(|@import|expression|//")
        policies = [v for _, name, v in page.attributes if name == "content" and "-src" in v]
        self.assertEqual(len(policies), 1)
        self.assertTrue(policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'"))
        return page


class Samples(Base):
    def test_figures_are_those_of_the_json_report(self):
        for name in SAMPLES:
            with self.subTest(name):
                page = self.is_one_safe_page(sample(name, "html"))
                self.agrees(page, json.loads(sample(name, "json")))

    def test_golden_traces_draw_every_section(self):
        for name in sorted(os.listdir(GOLDEN)):
            trace = os.path.join(GOLDEN, name, "trace.txt")
            if not os.path.exists(trace):
                continue
            with self.subTest(name):
                page = self.is_one_safe_page(sample(trace, "html"))
                report = json.loads(sample(trace, "json"))
                self.agrees(page, report)
                paths = {path for path, _ in page.figures}
                if report["steps"]["count"]:
                    self.assertLessEqual({"verdict", "time", "findings", "steps", "lanes",
                                          "resources", "environment"}, page.ids)
                    self.assertLessEqual({"steps.time_ns.p50", "breakdown.ratio.data_wait",
                                          "breakdown.phase_ratio.compute"}, paths)
                shown = [v for p, v in page.figures if re.fullmatch(r"findings\.\d+\.id", p)]
                self.assertEqual(shown, [f["id"] for f in report["findings"]])


def brightness(colour):
    """Relative luminance, WCAG 2.1."""
    text = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = [int(text[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(c * weight for c, weight in zip(linear, (0.2126, 0.7152, 0.0722)))


def contrast(a, b):
    low, high = sorted((brightness(a), brightness(b)))
    return (high + 0.05) / (low + 0.05)


class Colours(Base):
    HUES = "compute wait load extract transform sync comm periodic other unknown".split()

    def test_text_and_pictures_stand_out_on_light_and_on_dark(self):
        style = re.search("<style>(.*?)</style>", sample("input_bound", "html").decode(), re.S)[1]
        themes = [dict(re.findall(r"--([\w-]+):(#\w{3,6})", block))
                  for block in re.findall(r":root\{([^}]*--page[^}]*--compute[^}]*)\}", style)]
        self.assertEqual(len(themes), 2)
        for theme in themes:
            for name in ("ink", "muted", "accent"):  # WCAG 1.4.3, text
                for behind in ("page", "card"):
                    self.assertGreaterEqual(contrast(theme[name], theme[behind]), 4.5, name)
            for name in self.HUES:  # what is written in a bar
                on = theme["on-transform"] if name == "transform" else theme["on"]
                self.assertGreaterEqual(contrast(on, theme[name]), 4.5, name)
            for name in self.HUES + ["first", "second", "third"]:  # 1.4.11, pictures
                self.assertGreaterEqual(contrast(theme[name], theme["page"]), 3, name)


class Long(Base):
    def test_a_hundred_thousand_steps_stay_small(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "long.txt")
            with open(trace, "w", encoding="ascii") as out:
                out.write("""
1s process process=1 pid=100 comm="python3"
1s thread thread=1 process=1 tid=100 name="python3"
1s loader process=1 loader=1 kind="torch.DataLoader" batching="auto" workers=0 batch_size=8
1s iterator thread=1 loader=1 epoch=1 key=11 duration=1ms
repeat 100000 every 100ms
1010ms fetch thread=1 loader=1 epoch=1 duration=60ms cpu=60ms batch=0+1*i process_cpu=60ms
1105ms optimizer thread=1 duration=4ms optimizer=1
end
repeat 10000 every 1s
1s usage process=1 cpu=0+1s*i rss=400000000 read_bytes=0+1000000*i
1s host busy=0+1s*i idle=0+1s*i job_cpu=0+1s*i
1s slice thread=1 duration=1s run=1s samples=100 wait=running
end
10002s command_end exit_code=0
clean_end
""")
            data = sample(trace, "html")
            page = self.is_one_safe_page(data)
            self.agrees(page, json.loads(sample(trace, "json")))
            self.assertIn(("steps.count", "100000"), page.figures)
            self.assertLess(len(data), LARGEST // 4)


class Hostile(Base):
    """Names as a job may bear them, through every sink."""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp()
        cls.trace = os.path.join(cls.dir, "hostile.txt")
        name = quoted(HOSTILE)
        with open(os.path.join(GOLDEN, "too_few_workers", "trace.txt"), encoding="ascii") as good:
            text = good.read()
        for field in ("comm", "command", "exe", "name", "file", "kind", "dataset", "cpu"):
            text = re.sub(r'\b%s="(?!pt_data)[^"]*"' % field, lambda m, f=field: f + "=" + name,
                          text)
        text += "\n".join([
            "2s file process=1 path=%s mount=%s type=%s source=%s waits=9 size=5" % ((name,) * 4),
            "2s source source=%s state=partial why=%s" % (name, name),
            "3s span thread=1 duration=9ms phase=periodic source=hook name=%s file=%s line=3"
            % (name, name),
            "4s stack stack=1 function=%s file=%s line=7" % (name, name),
            "4s stack stack=2 caller=1 function=%s file=%s line=8" % (name, name),
            "5s stack_slice thread=1 duration=1s stack=2 samples=100", ""])
        with open(cls.trace, "w", encoding="ascii") as out:
            out.write(text)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def test_html(self):
        page = self.is_one_safe_page(sample(self.trace, "html"))
        text = "".join(page.text)
        self.assertTrue("<script>document.title='owned'</script>" in text)  # shown, as text
        self.assertIn("stacks", page.ids)
        self.assertIn("files", page.ids)
        self.agrees(page, json.loads(sample(self.trace, "json")))

    def test_text_and_markdown(self):
        for form in ("text", "md"):
            text = sample(self.trace, form).decode("utf-8")
            self.assertIsNone(CONTROL.search(text), form)
        self.assertFalse("<" in outside_code(sample(self.trace, "md").decode()))

    def test_json_is_ascii_without_a_raw_control_byte(self):
        text = sample(self.trace, "json").decode("ascii")
        self.assertIsNone(CONTROL.search(text))
        json.loads(text)

    def test_a_real_run_through_the_program_and_the_dump(self):
        folder = os.path.join(self.dir, "run").encode()
        os.mkdir(folder)
        # 15 bytes are what the kernel keeps of a program's name; a path is at most 255.
        program = os.path.join(folder, b"\x1b[2J<b>\xe2\x80\xae\"'&\x07\x7f" + HOSTILE[-150:].replace(b"/", b"|"))
        shutil.copy(shutil.which("sleep").encode(), program)
        recording = os.path.join(self.dir, "r.stallprof")
        subprocess.run([STALLPROF.encode(), b"run", b"-o", recording.encode(), b"--report", b"none",
                        b"--", program, b"0.4"], check=True, stderr=subprocess.PIPE, timeout=60)
        for form in ("text", "md", "json"):
            out = subprocess.run([STALLPROF, "report", recording, "--format", form], check=True,
                                 stdout=subprocess.PIPE, timeout=60).stdout.decode("utf-8")
            self.assertIsNone(CONTROL.search(out), form)
        out = subprocess.run([STALLPROF, "report", recording, "--format", "html"], check=True,
                             stdout=subprocess.PIPE, timeout=60).stdout
        self.is_one_safe_page(out)
        dump = subprocess.run([DUMP, recording], check=True, stdout=subprocess.PIPE,
                              timeout=60).stdout.decode("ascii")
        self.assertIsNone(CONTROL.search(dump))


class Verbs(Base):
    def test_run_writes_the_page_beside_the_recording_or_where_it_is_asked_to(self):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "a.stallprof")
            asked = os.path.join(folder, "asked.html")
            subprocess.run([STALLPROF, "run", "-o", recording, "--report", "none", "--report",
                            "html", "--report", "html=" + asked, "--", "sleep", "0.2"], check=True,
                           stderr=subprocess.PIPE, timeout=60)
            for path in (os.path.join(folder, "a.report.html"), asked):
                with open(path, "rb") as page:
                    self.is_one_safe_page(page.read())


class Requests(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.pages.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@unittest.skipIf(CHROMIUM is None, "no Chromium on this machine: the page was read by html.parser alone")
class Browser(Base):
    def load(self, page):
        """The DOM after loading, and every address the page asked its server for."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Requests)
        server.asked, server.pages = [], {"/page": page}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with tempfile.TemporaryDirectory() as profile:
                out = subprocess.run(
                    [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update",
                     "--user-data-dir=" + profile, "--dump-dom",
                     "http://127.0.0.1:%d/page" % server.server_port],
                    check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=90)
        finally:
            server.shutdown()
            server.server_close()
        return out.stdout.decode("utf-8"), server.asked

    def test_the_loaded_page_is_the_report_and_asks_for_nothing(self):
        trace = os.path.join(GOLDEN, "too_few_workers", "trace.txt")
        dom, asked = self.load(sample(trace, "html"))
        self.agrees(Page(dom), json.loads(sample(trace, "json")))
        self.assertLessEqual(set(asked), {"/page", "/favicon.ico"})

    def test_hostile_names_run_nothing(self):
        Hostile.setUpClass()
        try:
            for name in ("hostile", Hostile.trace):
                dom, asked = self.load(sample(name, "html"))
                self.assertLessEqual(set(asked), {"/page", "/favicon.ico"})
                page = Page(dom)
                self.assertNotIn("script", page.tags)
                self.assertNotIn("img", page.tags)
                title = re.search("<title>(.*?)</title>", dom, re.S).group(1)
                self.assertTrue(title.startswith("stallprof: "), title[:80])
        finally:
            Hostile.tearDownClass()


if __name__ == "__main__":
    if CHROMIUM is None:
        print("html_test: no Chromium; its checks are skipped", file=sys.stderr)
    unittest.main()
