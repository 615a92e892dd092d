// SPDX-License-Identifier: MIT
#include "present/html/html_sections.h"

namespace stallprof {
namespace {

// Contrast: text 4.5:1 and drawn things 3:1 on the page and on cards (WCAG 2.1 AA), in both themes;
// --on-X is the ink on X. Hues keep apart in lightness too, for eyes that see no red or green.
constexpr Literal kStyle = R"css(
:root{color-scheme:light dark;
--page:#fff;--card:#f7f7f5;--rule:#e2e2de;--grid:#ecece8;--ink:#1b1d21;--muted:#59606b;--accent:#2a4a8f;
--compute:#15795f;--wait:#a8233f;--load:#8453a0;--extract:#2864a8;--transform:#c58212;--sync:#257a92;
--comm:#b23c78;--periodic:#80702a;--other:#6f7580;--unknown:#6f7580;
--first:#3b4a6b;--second:#60719a;--third:#8592b1;
--on:#fff;--on-transform:#1b1d21;--add:#e6f3ee;--del:#faebee;--warn:#fbf1dc;
--mono:ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans",Arial,sans-serif}
@media screen and (prefers-color-scheme:dark){:root{
--page:#15171b;--card:#1d2026;--rule:#32363e;--grid:#272b32;--ink:#e8eaee;--muted:#a2a9b4;--accent:#9db8f2;
--compute:#4fc3a1;--wait:#f2788f;--load:#c294dd;--extract:#74aef2;--transform:#ecb450;--sync:#6fcbe0;
--comm:#ef86b8;--periodic:#cdbb62;--other:#979eab;--unknown:#979eab;
--first:#b4c2e4;--second:#7f91bb;--third:#5f6d92;
--on:#14161a;--on-transform:#14161a;--add:#17302a;--del:#3a1e26;--warn:#362c16}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.55 var(--sans);overflow-wrap:break-word;
font-variant-numeric:tabular-nums;font-feature-settings:"tnum"}
main,.top,footer{max-width:1080px;margin:0 auto;padding:0 1.5rem}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:3px;border-radius:2px}
code,pre{font-family:var(--mono);font-size:.87em}
code{overflow-wrap:anywhere}
.skip{position:absolute;left:-99em}.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.3rem .6rem}
.top{display:flex;flex-wrap:wrap;gap:.2rem 1.25rem;align-items:baseline;padding-top:1.5rem;color:var(--muted);font-size:.87rem}
.top b{color:var(--ink);font-weight:650;letter-spacing:-.01em;font-size:1rem}
.top .when{margin-left:auto}
.what{margin:.9rem 0 0;color:var(--muted);font-size:.87rem}
.what code{color:var(--ink);font-size:.92rem}
.what p{margin:.1rem 0}
.clamp{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
.verdict{margin:2.2rem 0 0}
.eyebrow{margin:0;color:var(--muted);font-size:.87rem}
h1{font-size:clamp(1.9rem,4.6vw,2.7rem);line-height:1.12;letter-spacing:-.025em;font-weight:680;margin:.15rem 0 .5rem;text-wrap:balance}
.lead{font-size:1.13rem;line-height:1.5;max-width:46rem;margin:0;text-wrap:pretty}
.alert{background:var(--warn);border-left:3px solid var(--transform);padding:.55rem .9rem;margin:1.2rem 0 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.8rem,1fr));gap:1.4rem 1.6rem;margin:2rem 0 0;padding:1.3rem 0;border:solid var(--rule);border-width:1px 0}
.tiles dt{color:var(--muted);font-size:.87rem}
.tiles dd{margin:0}
.tiles .big{font-size:1.55rem;line-height:1.25;font-weight:620;letter-spacing:-.02em;white-space:nowrap}
.tiles .sub{color:var(--muted);font-size:.87rem}
nav{margin:1rem 0 0;font-size:.87rem;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
nav a{text-decoration:none;padding:.25rem 0}nav a:hover{text-decoration:underline}
section{margin:3.2rem 0 0;scroll-margin-top:1rem}
h2{font-size:1.3rem;letter-spacing:-.015em;line-height:1.25;font-weight:660;margin:0 0 .25rem}
h3{font-size:1rem;font-weight:650;margin:0}
.intro{color:var(--muted);margin:0 0 1.1rem;max-width:46rem;text-wrap:pretty}
.quiet{color:var(--muted)}
.note{color:var(--muted);font-size:.87rem;margin:.5rem 0 0}
.n{white-space:nowrap}
table{border-collapse:collapse;width:100%;font-size:.93rem}
.scroll{overflow-x:auto}
th,td{text-align:left;padding:.42rem 1.1rem .42rem 0;vertical-align:baseline;border-bottom:1px solid var(--rule)}
th:last-child,td:last-child{padding-right:0}
thead th{color:var(--muted);font-weight:500;font-size:.87rem;white-space:nowrap}
tbody th{font-weight:500;white-space:nowrap}
td.r,th.r{text-align:right;white-space:nowrap}
td.w{width:26%;min-width:6rem}
tfoot td,tfoot th{border:0;color:var(--muted);font-weight:400}
.path{overflow-wrap:anywhere}
.dot{display:inline-block;width:.72em;height:.72em;border-radius:2px;margin-right:.5em;vertical-align:-.02em;background:var(--c)}
.compute{--c:var(--compute)}.wait{--c:var(--wait)}.load{--c:var(--load)}.extract{--c:var(--extract)}
.transform{--c:var(--transform);--o:var(--on-transform)}.sync{--c:var(--sync)}.comm{--c:var(--comm)}
.periodic{--c:var(--periodic)}.other{--c:var(--other)}.unknown{--c:var(--unknown)}
.first{--c:var(--first)}.second{--c:var(--second)}.third{--c:var(--third)}
.bar .unknown,.lane .unknown,.dot.unknown{background:repeating-linear-gradient(135deg,var(--unknown) 0 2px,transparent 2px 5px);box-shadow:inset 0 0 0 1px var(--unknown);color:transparent}
.bars{display:grid;grid-template-columns:max-content 1fr;gap:3px .9rem;align-items:center;margin:0 0 .9rem}
.bars>span{color:var(--muted);font-size:.87rem}
.bar{display:flex;height:2.3rem;background:var(--card);border-radius:3px;overflow:hidden;gap:1px}
.bar.thin{height:1.6rem}.bar.slim{height:.6rem}figcaption .legend{margin:0 0 .2rem}.shead+.legend{margin:.15rem 0 0}
.b{display:block;background:var(--c);color:var(--o,var(--on));font-size:.82rem;line-height:2.3rem;overflow:hidden;white-space:nowrap;text-overflow:clip;min-width:0}
.b.named{padding:0 .6rem;text-overflow:ellipsis}
.thin .b{line-height:1.6rem}
.b.none{background:none}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.4rem;font-size:.87rem;margin:0 0 .9rem;padding:0;list-style:none}
.legend b{font-weight:600}
.meter{height:.6rem;background:var(--card);border-radius:2px;overflow:hidden}
.meter i{display:block;height:100%;min-width:1px;background:var(--c,var(--first))}
.finding{border-top:1px solid var(--rule);padding:1.5rem 0 1.7rem;display:grid;grid-template-columns:2.2rem minmax(0,1fr);scroll-margin-top:1rem}
.finding:first-of-type{border-top:2px solid var(--ink)}
.rank{font-size:1.3rem;line-height:1.3;font-weight:620;color:var(--muted)}
.fhead{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.4rem 2rem;align-items:flex-start}
.fhead>div:first-child{flex:1 1 26rem;min-width:0}
.fhead h3{font-size:1.16rem;line-height:1.35;letter-spacing:-.01em}
.meta{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin:.2rem 0 0;color:var(--muted);font-size:.87rem}
.gain{flex:0 0 13rem;font-size:.87rem;color:var(--muted)}
.gain .big{display:block;color:var(--ink);font-size:1.3rem;font-weight:620;letter-spacing:-.015em;line-height:1.3}
.gain svg{display:block;width:100%;height:16px;overflow:visible;margin:.25rem 0 0}
.ends{display:flex;justify-content:space-between;font-size:.77rem;line-height:1.2}
.finding h4{font-size:.87rem;font-weight:600;margin:1.1rem 0 .3rem}
.finding ul{margin:.2rem 0 0;padding-left:1.1rem;max-width:50rem}
.finding li{margin:.15rem 0}
.finding p{margin:.35rem 0;max-width:50rem}
pre{background:var(--card);border-radius:4px;padding:.7rem .9rem;margin:.5rem 0;overflow-x:auto;line-height:1.5;tab-size:4}
pre.cmd{white-space:pre-wrap;overflow-wrap:anywhere}
pre.diff{padding:.45rem 0;display:grid}
pre.diff span{padding:.05rem .9rem;white-space:pre;min-width:max-content}
pre.diff .add{background:var(--add)}pre.diff .del{background:var(--del)}
details{margin:.6rem 0 0}
summary{cursor:pointer;color:var(--accent);font-size:.93rem;padding:.15rem 0}
summary .quiet{color:var(--muted)}
details[open]>summary{margin-bottom:.3rem}
figure{margin:0}
figcaption{margin:.5rem 0 0;font-size:.87rem;color:var(--muted)}
.chart{display:grid;grid-template-columns:3.4rem minmax(0,1fr);grid-template-rows:auto var(--h,170px) 1.5rem;font-size:.8rem;color:var(--muted)}
.chart .unit{grid-column:1/3;padding:0 0 .45rem;display:flex;gap:.2rem 1.2rem;flex-wrap:wrap;align-items:baseline}
.chart .unit b{color:var(--ink);font-size:.95rem;font-weight:600}
.y,.x{position:relative}
.y span{position:absolute;right:.55rem;transform:translateY(50%);white-space:nowrap}
.x{grid-column:2}
.x span{position:absolute;top:.3rem;transform:translateX(-50%);white-space:nowrap}
.x span.a{transform:none}.x span.z{transform:translateX(-100%)}
.plot{position:relative;border-bottom:1px solid var(--muted)}
.plot svg{display:block;width:100%;height:100%;overflow:hidden}
.plot .limit{position:absolute;right:0;padding:0 .3rem;transform:translateY(50%);background:var(--page);color:var(--ink);font-size:.77rem}
.dash{display:inline-block;width:1.5em;border-top:1px dashed var(--ink);vertical-align:.3em;margin-right:.5em}
.plot .tag{position:absolute;top:0;font-size:.77rem;padding:0 .3rem;white-space:nowrap}
svg .fill{fill:var(--c)}svg .area{fill:var(--c);fill-opacity:.9}
svg .line{fill:none;stroke:var(--c);stroke-width:1.6;vector-effect:non-scaling-stroke;stroke-linejoin:round}
svg .grid{stroke:var(--grid);stroke-width:1;vector-effect:non-scaling-stroke}
svg .rule{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3;vector-effect:non-scaling-stroke;fill:none}
svg .range{stroke:var(--muted);stroke-width:1;vector-effect:non-scaling-stroke;fill:none}
svg .veil{fill:var(--page);fill-opacity:.62}svg .shade{fill:var(--card)}
svg .hit{fill:transparent}svg .hit:hover{fill:var(--ink);fill-opacity:.14}
.lanes{display:grid;grid-template-columns:8rem minmax(0,1fr);gap:4px 0;font-size:.8rem;color:var(--muted);margin:.9rem 0 0}
.lanes .name{color:var(--ink);line-height:1.15;align-self:center;padding-right:.6rem}
.lanes .name small{display:block;color:var(--muted);font-size:.77rem}
.lane{position:relative;height:1.75rem;background:var(--card);overflow:hidden;border-radius:2px}
.lane .b{position:absolute;top:0;bottom:0;line-height:1.75rem;font-size:.77rem;min-width:1px;border-radius:1px}
.lane .b.named{padding:0 .35rem}
.lane .b.awaited{box-shadow:inset 0 0 0 2px var(--ink)}
.lane .mark{position:absolute;top:0;bottom:0;border-left:1px dashed var(--ink)}
.lane .out{position:absolute;top:0;bottom:0;background:var(--page);opacity:.55}
.lanes .x{height:1.5rem;border-top:1px solid var(--muted)}
.step+.step{margin-top:2.2rem}
.shead{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;align-items:baseline}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(25rem,100%),1fr));gap:2.2rem 2.6rem}
.flame{position:relative;margin:.6rem 0 0;background:var(--card);border-radius:3px;overflow:hidden}
.flame .b{position:absolute;height:1.3rem;line-height:1.3rem;font-size:.75rem;font-family:var(--mono);background:color-mix(in srgb,var(--c) 22%,var(--card));color:var(--ink);border:solid var(--page);border-width:0 1px 1px 0}
.flame .b.own{background:color-mix(in srgb,var(--c) 48%,var(--card))}
.flame .b.named{padding:0 .35rem}
.flame+.shead{margin-top:1.6rem}.scroll+.intro{margin-top:1.8rem}
.cols{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:0 3rem}
ul.plain{list-style:none;margin:0;padding:0}
ul.plain li{padding:.38rem 0;border-bottom:1px solid var(--rule);overflow-wrap:anywhere}
dl.facts{align-content:start;display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.3rem 1.4rem;margin:0;font-size:.93rem}
dl.facts dt{color:var(--muted)}dl.facts dd{margin:0;overflow-wrap:anywhere}
footer{margin-top:4rem;padding-top:1.2rem;padding-bottom:3rem;color:var(--muted);font-size:.87rem}
footer>div{border-top:1px solid var(--rule);padding-top:1rem}
@media (max-width:640px){main,.top,footer{padding-left:1rem;padding-right:1rem}
.top .when{margin-left:0}.tiles{grid-template-columns:1fr 1fr;gap:1.1rem 1rem}.tiles .big{font-size:1.2rem}
.finding{grid-template-columns:minmax(0,1fr)}.gain{flex:1 1 100%}.chart{grid-template-columns:2.9rem minmax(0,1fr)}
.bars{grid-template-columns:minmax(0,1fr)}.lanes{grid-template-columns:4.6rem minmax(0,1fr)}.wide{display:none}
th,td{padding-right:.7rem}dl.facts{grid-template-columns:minmax(0,1fr);gap:0}dl.facts dd{margin:0 0 .5rem}}
@media print{:root{color-scheme:light;--page:#fff;--card:#f4f4f2;--rule:#ccc;--grid:#e5e5e2;--ink:#000;--muted:#444;--accent:#000}
body{font-size:10pt}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
nav,.skip{display:none}details::details-content{content-visibility:visible;block-size:auto}main,.top,footer{max-width:none;padding:0}section{margin-top:1.6rem}
figure,.step,tr,pre,.bars,.diff{break-inside:avoid}h2,h3,h4,.intro,.finding header,summary{break-after:avoid}pre{white-space:pre-wrap}.scroll{overflow:visible}
.tiles .big{font-size:1.15rem;white-space:normal}td,th{padding-top:.15rem;padding-bottom:.15rem}
.verdict{margin-top:1.2rem}.tiles{margin-top:1rem;padding:.7rem 0}}
)css";

}  // namespace

Literal reportStyle() { return kStyle; }

}  // namespace stallprof
