#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The HTML page without a mouse, in headless Chromium: where Tab leads and that it is seen, what
Enter and Space open, that nothing holds the focus; in both colour schemes, on a narrow window, and
what of it is on paper."""
import os
import tempfile
import unittest

import devtools
import html_test

# What has the focus: its place among all elements, and how that is shown.
FOCUS = """(() => {
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return null;
  const s = getComputedStyle(e), r = e.getBoundingClientRect();
  const x = Math.min(Math.max(r.left + Math.min(r.width / 2, 20), 0), innerWidth - 1);
  const y = Math.min(Math.max((Math.max(r.top, 0) + Math.min(r.bottom, innerHeight)) / 2, 0), innerHeight - 1);
  const top = document.elementFromPoint(x, y);
  return {index: [...document.querySelectorAll('*')].indexOf(e), tag: e.localName, text: e.textContent.slice(0, 40),
          href: e.getAttribute('href'), style: s.outlineStyle, width: parseFloat(s.outlineWidth),
          colour: s.outlineColor, page: getComputedStyle(document.body).backgroundColor,
          seen: r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth &&
                (e.contains(top) || top.contains(e))};
})()"""
# What a keyboard must reach: links, what opens, and what scrolls sideways.
REACHABLE = """[...document.querySelectorAll('*')].map((e, i) => [e, i]).filter(([e]) =>
  e.checkVisibility() && (e.matches('a[href], summary') ||
  (e !== document.documentElement && e !== document.body && e.scrollWidth > e.clientWidth + 1 &&
   ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)))).map(([e, i]) => i)"""
OPEN = "[...document.querySelectorAll('details')].map(d => d.open)"
# Of what closed details hold: how much of it takes room.
HELD = """[...document.querySelectorAll('details')].filter(d => !d.open).map(d =>
  [...d.children].slice(1).reduce((sum, e) => sum + (e.checkVisibility({contentVisibilityAuto: true}) ?
  e.getBoundingClientRect().height : 0), 0))"""


def colour(text):
    """rgb(1, 2, 3) as #010203."""
    return "#" + "".join("%02x" % int(float(part)) for part in text[text.index("(") + 1:-1].split(",")[:3])


@unittest.skipIf(html_test.CHROMIUM is None, "no Chromium on this machine")
class Keyboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("remote_latency", "gpu_starved"):
            cls.write(name, os.path.join(html_test.GOLDEN, name, "trace.txt"))
        cls.write("hostile", "hostile")  # long names, 25 things folded
        cls.browser = devtools.Browser(html_test.CHROMIUM)

    @classmethod
    def write(cls, name, of):
        with open(os.path.join(cls.folder.name, name + ".html"), "wb") as page:
            page.write(html_test.sample(of, "html"))

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def load(self, width=1200, media="screen", scheme="light", name="remote_latency"):
        self.browser.medium(media, scheme)
        self.browser.open(os.path.join(self.folder.name, name + ".html"), width)

    def walk(self, shift=False):
        """What has the focus, Tab after Tab, until it leaves the page."""
        stops = []
        while True:
            self.browser.press("Tab", shift)
            stop = self.browser.value(FOCUS)
            if stop is None or (stops and stop["index"] == stops[0]["index"]):
                return stops
            stops.append(stop)
            self.assertLess(len(stops), 500, "the focus never leaves")

    def test_tab_leads_through_everything_in_order_and_is_seen(self):
        for name, width, scheme in (("remote_latency", 1200, "light"), ("gpu_starved", 1200, "dark"),
                                    ("gpu_starved", 420, "light"), ("hostile", 420, "dark")):
            with self.subTest(name, width=width, scheme=scheme):
                self.load(width, scheme=scheme, name=name)
                reachable = self.browser.value(REACHABLE)
                stops = self.walk()
                order = [stop["index"] for stop in stops]
                self.assertGreater(len(order), 10)
                self.assertEqual(order, sorted(order))
                self.assertEqual(set(reachable) - set(order), set())
                for stop in stops:
                    self.assertTrue(stop["seen"], stop)
                    self.assertEqual(stop["style"], "solid", stop)
                    self.assertGreaterEqual(stop["width"], 2, stop)
                    self.assertGreaterEqual(
                        html_test.contrast(colour(stop["colour"]), colour(stop["page"])), 3, stop)
                self.assertEqual([stop["index"] for stop in self.walk(shift=True)], order[::-1])

    def test_the_first_stop_skips_to_the_verdict(self):
        self.load()
        self.browser.press("Tab")
        self.assertEqual(self.browser.value(FOCUS)["href"], "#verdict")
        self.browser.press("Enter")
        self.assertEqual(self.browser.value("location.hash"), "#verdict")
        self.browser.press("Tab")  # on from there, not from the top
        self.assertGreater(self.browser.value(FOCUS)["index"], self.browser.value(
            "[...document.querySelectorAll('*')].indexOf(document.getElementById('verdict'))"))

    def test_enter_and_space_open_and_close(self):
        self.load()
        folded = self.browser.value("document.querySelectorAll('summary').length")
        self.assertGreater(folded, 1)
        met = 0
        while met < folded:
            self.browser.press("Tab")
            stop = self.browser.value(FOCUS)
            self.assertIsNotNone(stop)
            if stop["tag"] != "summary":
                continue
            before = self.browser.value(OPEN)
            for key in ("Enter", "Space"):
                self.browser.press(key)
                after = self.browser.value(OPEN)
                self.assertEqual(sum(a != b for a, b in zip(before, after)), 1, (key, stop))
                self.assertEqual(self.browser.value(FOCUS)["index"], stop["index"])
                before = after
            met += 1

    def test_every_link_leads_to_its_section(self):
        self.load()
        for stop in self.walk():
            if stop["tag"] != "a":
                continue
            self.browser.value("[...document.querySelectorAll('*')][%d].focus()" % stop["index"])
            self.browser.press("Enter")
            self.assertEqual(self.browser.value("location.hash"), stop["href"])
            top = self.browser.value("document.querySelector(location.hash).getBoundingClientRect().top")
            end = self.browser.value("document.documentElement.scrollHeight - scrollY - innerHeight")
            self.assertTrue(-1 <= top <= 60 or end <= 1, (stop, top))  # at the top, or as far as it goes

    def test_paper_is_white_and_shows_what_is_folded(self):
        for scheme in ("light", "dark"):
            self.load(794, "print", scheme)  # A4 at 96 dots an inch
            self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('nav')).display"), "none")
            self.assertEqual(self.browser.value("getComputedStyle(document.body).backgroundColor"),
                             "rgb(255, 255, 255)")
            held = self.browser.value(HELD)
            self.assertGreater(len(held), 0)
            for height in held:
                self.assertGreater(height, 10)

    def test_nothing_is_wider_than_the_window(self):
        for name in ("remote_latency", "gpu_starved", "hostile"):
            for width in (320, 420, 794, 1200):
                self.load(width, name=name)
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width, name)


if __name__ == "__main__":
    unittest.main()
