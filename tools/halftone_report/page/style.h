// The style of the page. Colours of runs and areas are those of Okabe and Ito, "Color Universal Design", 2008, which
// people with colour-blindness distinguish; in the dark they come in the order that contrasts with a dark page. Heat
// maps have one hue, from the page's own lightness to its opposite.
#pragma once

namespace halftone_report {

constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--page:#fff;--panel:#fff;--ink:#1b1f24;--soft:#57606a;--edge:#d0d7de;--grid:#e6e9ed;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#e69f00;--c5:#56b4e9;--c6:#7a7a7a;--bad:#b3261e;
--h0:#e8f0f8;--h1:#d2e2f1;--h2:#b7d1e8;--h3:#98bddd;--h4:#77a7d0;--h5:#578fc1;--h6:#3b77ae;--h7:#255f97;--h8:#13477c;--h9:#062f5c}
@media screen and (prefers-color-scheme:dark){:root{--page:#0f1216;--panel:#161b21;--ink:#e6e9ed;--soft:#a3adb8;
--edge:#313941;--grid:#262d35;--c0:#56b4e9;--c1:#e69f00;--c2:#12b886;--c3:#cc79a7;--c4:#f0e442;--c5:#d55e00;--c6:#9aa4ae;
--bad:#ff6b5e;--h0:#1c2937;--h1:#20364b;--h2:#244460;--h3:#2a5578;--h4:#336891;--h5:#427eab;--h6:#5896c3;--h7:#79b0d8;
--h8:#a3cbe8;--h9:#d5e9f7}}
*{box-sizing:border-box}
body{margin:0;padding:24px;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
header,main,footer{max-width:1240px;margin:0 auto}
h1{font-size:24px;margin:0 0 4px}h2{font-size:19px;margin:32px 0 12px}h3{font-size:16px;margin:0 0 8px}
h4{font-size:14px;margin:12px 0 4px;color:var(--soft)}
p{margin:6px 0;color:var(--soft);font-size:14px}p.none{padding:20px 12px;border:1px dashed var(--edge);border-radius:6px;text-align:center}
code{font:13px ui-monospace,"DejaVu Sans Mono",monospace;color:var(--ink);overflow-wrap:anywhere}
nav{margin:12px 0}nav a{margin-right:14px;white-space:nowrap;font-size:14px}a{color:var(--c0)}
.panels{columns:2;column-gap:16px}
.panel{background:var(--panel);border:1px solid var(--edge);border-radius:8px;padding:14px 16px;margin:0 0 16px;break-inside:avoid}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:14px;width:100%}
th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--grid);vertical-align:top}
th{color:var(--soft);font-weight:600}.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 14px;margin:4px 0;padding:0;font-size:13px;color:var(--soft)}
.legend li{display:flex;align-items:center;gap:6px}.key{width:22px;height:12px;flex:none}
svg{display:block;width:100%;height:auto;overflow:visible}svg text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--soft)}
svg text.title{fill:var(--ink)}svg text.small,svg text.row{font-size:11px}
.axis,.grid{fill:none;stroke:var(--grid);stroke-width:1}.axis{stroke:var(--soft)}
.line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.line.faint{opacity:.4;stroke-width:1}.dash{stroke-dasharray:7 4}.dots{stroke-dasharray:2 4}
.line.ink{color:var(--ink);stroke-width:1.2}
.dot{fill:var(--panel);stroke:currentColor;stroke-width:2}.spike{fill:currentColor;stroke:none}
.tick{fill:none;stroke:currentColor;stroke-width:1}
.area{stroke:var(--panel);stroke-width:.6}.cell{stroke:var(--edge);stroke-width:.5}
.span{fill:none;stroke:var(--c0);stroke-width:7}.span.faint{stroke:var(--c0);stroke-width:1.6}
.format{fill:none;stroke:var(--c2);stroke-width:9}.format.faint{opacity:.4}
.limit{fill:none;stroke:var(--c1);stroke-width:1.2;stroke-dasharray:4 3}.bad{fill:none;stroke:var(--bad);stroke-width:5}
.heat{fill:none}.gbad{fill:var(--bad)}.bar{stroke:none}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}.f6{fill:var(--c6)}
.h0{stroke:var(--h0)}.h1{stroke:var(--h1)}.h2{stroke:var(--h2)}.h3{stroke:var(--h3)}.h4{stroke:var(--h4)}.h5{stroke:var(--h5)}
.h6{stroke:var(--h6)}.h7{stroke:var(--h7)}.h8{stroke:var(--h8)}.h9{stroke:var(--h9)}
.g0{fill:var(--h0)}.g1{fill:var(--h1)}.g2{fill:var(--h2)}.g3{fill:var(--h3)}.g4{fill:var(--h4)}.g5{fill:var(--h5)}
.g6{fill:var(--h6)}.g7{fill:var(--h7)}.g8{fill:var(--h8)}.g9{fill:var(--h9)}
footer{margin-top:28px}
@media(max-width:860px){body{padding:12px}.panels{columns:1}}
@media(max-width:480px){.panel{padding:10px}svg text{font-size:15px}svg text.small{font-size:14px}svg text.row{font-size:13px}}
@media print{body{padding:0}.panel{border-color:#bbb}h2{break-after:avoid}nav{display:none}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

}  // namespace halftone_report
