"""The look of pages: light or dark as the reader's system is."""

STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--text:#1c2128;--muted:#667085;--edge:#d9dde4;--made:#2f7fd0;--asked:#e08a2e;
--bad:#c93636;--panel:#fff}
@media(prefers-color-scheme:dark){:root{--bg:#14171c;--text:#e8ebf0;--muted:#98a2b3;--edge:#2a303a;--made:#58a8f6;
--asked:#f0a35e;--bad:#ff7b72;--panel:#1b1f26}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1060px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;margin:0 0 2px}
h2{font-size:16px;margin:34px 0 8px}
p{margin:0 0 10px;color:var(--muted)}
#player{width:100%;aspect-ratio:16/9;border-radius:10px;overflow:hidden;margin:14px 0;background:var(--panel)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:0}
dt{color:var(--muted)}
dd{margin:0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--edge);white-space:nowrap;vertical-align:top}
th:first-child,td.unit,td.text,thead th:nth-child(n+5){text-align:left}
thead th{color:var(--muted);font-weight:500}
tbody th{font-weight:600}
td.unit,td.text{color:var(--muted)}
td.text{white-space:normal;min-width:300px;font-size:12.5px}
.failures li{color:var(--bad)}
.plot{width:100%;height:auto;background:var(--panel);border:1px solid var(--edge);border-radius:8px}
.map{width:100%;height:auto;background:var(--panel);border:1px solid var(--edge);border-radius:8px}
polyline{fill:none;stroke-width:1.6;stroke-linejoin:round}
polyline.made{stroke:var(--made)}
polyline.asked{stroke:var(--asked);stroke-dasharray:5 3}
.grid{stroke:var(--edge);stroke-width:1}
.mark{stroke:var(--muted);stroke-width:1}
.tick{fill:var(--muted);font-size:11px}
.legend{display:flex;gap:18px;font-size:12.5px;margin:4px 0 0;color:var(--muted)}
.legend span::before{content:"";display:inline-block;width:18px;height:0;border-top:2px solid var(--made);
margin-right:6px;vertical-align:middle}
.legend span.asked::before{border-top-style:dashed;border-color:var(--asked)}
.note{font-size:12.5px}
"""
