// The survey as a page: what it knows is in the page itself, and so are the details of formats, packed until somebody asks.
// This is no module, since these wait for the end of the page: the table is there before the details are.
"use strict";

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);

/** An element with its attributes and children. Texts stay texts, whatever stands in them. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const outcomes = { r: "rendered", d: "dropped", x: "refused" };
const standings = ["proved", "partly", "failed", "unreadable"];
const PAGE = 50;

// Each source with what is known of its template, and a text to be searched.
const formats = data.formats.map((format, index) => ({ index, sources: [], ...format }));
const rows = data.sources.map(([source, template, base]) => {
  const [format, lints, capabilities] = data.templates[template];
  const row = { source, base, format: formats[format], lints, capabilities };
  row.format.sources.push(row);
  return row;
});
for (const format of formats) {
  format.found = [format.standing, format.line, format.error, format.arguments, ...(format.markers ?? [])].join("\n").toLowerCase();
}
for (const row of rows) {
  row.found = `${row.source}\n${row.base ?? ""}\n${Object.keys(row.lints ?? {}).join(" ")}`.toLowerCase();
}

const text = (value) => document.createTextNode(value ?? "–");
const mark = (value) => element("span", { class: value ?? "" }, value ?? "–");

/** A column: its title, what it is sorted by, and what it shows. */
const columns = [
  { title: "source", by: (row) => row.source, show: (row) => open(row) },
  { title: "sources", only: "grouped", by: (row) => row.format.sources.length, show: (row) => text(row.format.sources.length) },
  { title: "standing", by: (row) => standings.indexOf(row.format.standing), show: (row) => mark(row.format.standing) },
  { title: "recovered", by: (row) => (row.format.renderings ? row.format.recovered / row.format.renderings : -1), show: (row) => text(row.format.renderings === null ? null : `${row.format.recovered}/${row.format.renderings}`) },
  { family: "format", title: "thinking", by: (row) => row.format.reasoning ?? "", show: (row) => text(row.format.reasoning) },
  { family: "format", title: "calls", by: (row) => row.format.calls ?? "", show: (row) => text(row.format.calls) },
  { family: "format", title: "arguments", class: "short", by: (row) => row.format.arguments ?? "", show: (row) => text(row.format.arguments) },
  { family: "linter", title: "lints", class: "short", by: (row) => Object.keys(row.lints ?? {}).length, show: (row) => text(row.lints === null ? null : Object.entries(row.lints).map(([code, count]) => (count > 1 ? `${code}×${count}` : code)).join(" ")) },
  ...data.targets.map((target) => ({ family: "targets", title: target, by: (row) => row.format.targets?.[target] ?? "", show: (row) => mark(row.format.targets?.[target]) })),
  ...data.topics.map((topic, at) => ({ family: "capabilities", title: topic.replaceAll("_", " "), by: (row) => row.capabilities?.[at] ?? "", show: (row) => mark(outcomes[row.capabilities?.[at]]) })),
  { family: "format", title: "format", class: "format mono", by: (row) => row.format.line ?? "", show: (row) => text(row.format.line ?? row.format.error) },
];
const families = { format: true, linter: true, targets: true, capabilities: false };

const state = { sort: 0, descending: false, page: 0, shown: rows };

function open(row) {
  return element("button", { type: "button", click: () => go(row.format) }, row.source);
}

function visible() {
  const grouped = $("grouped").checked;
  return columns.filter((column) => (column.only !== "grouped" || grouped) && (!column.family || families[column.family]));
}

/** Chooses the rows, and sorts them. */
function choose() {
  const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [standing, lint, target] = ["standing", "lint", "target"].map((id) => $(id).value);
  // Formats are fewer than sources, and are looked at once.
  const fits = formats.map((format) => words.map((word) => format.found.includes(word)));
  const isGood = formats.map((format) => (!standing || format.standing === standing) && (!target || ["taken", "limits"].includes(format.targets?.[target])));
  let shown = rows.filter((row) => {
    const format = row.format.index;
    return isGood[format] && (!lint || lint in (row.lints ?? {})) && words.every((word, at) => fits[format][at] || row.found.includes(word));
  });
  if ($("grouped").checked) {
    const seen = new Set();
    shown = shown.filter(({ format }) => !seen.has(format) && seen.add(format));
  }
  const column = columns[state.sort];
  if (state.sort || state.descending) {
    const sign = state.descending ? -1 : 1;
    const keyed = shown.map((row, at) => [column.by(row), at, row]);
    keyed.sort(([a, i], [b, j]) => (a < b ? -sign : a > b ? sign : i - j));
    shown = keyed.map(([, , row]) => row);
  }
  state.shown = shown;
  state.page = 0;
  draw();
}

function draw() {
  const { shown, page } = state;
  const seen = visible();
  const head = seen.map((column) => {
    const at = columns.indexOf(column);
    const sorted = at === state.sort ? (state.descending ? "descending" : "ascending") : "none";
    const arrow = sorted === "none" ? "" : state.descending ? " ↓" : " ↑";
    const sort = () => {
      state.descending = at === state.sort && !state.descending;
      state.sort = at;
      choose();
      $("rows").querySelectorAll("thead button")[visible().indexOf(column)]?.focus();
    };
    return element("th", { scope: "col", "aria-sort": sorted }, element("button", { type: "button", click: sort }, column.title + arrow));
  });
  const start = page * PAGE;
  const body = shown.slice(start, start + PAGE).map((row, at) =>
    element("tr", { "aria-rowindex": start + at + 2 }, ...seen.map((column) => element("td", { class: column.class }, column.show(row)))));
  const table = $("rows").querySelector("table");
  table.setAttribute("aria-rowcount", shown.length + 1);
  table.tHead.replaceChildren(element("tr", { "aria-rowindex": 1 }, ...head));
  table.tBodies[0].replaceChildren(...body);
  const what = $("grouped").checked ? "formats" : "sources";
  $("count").textContent = `${shown.length} of ${($("grouped").checked ? formats : rows).length} ${what}`;
  const pages = Math.max(1, Math.ceil(shown.length / PAGE));
  $("place").textContent = `page ${page + 1} of ${pages}`;
  $("previous").disabled = page === 0;
  $("next").disabled = page + 1 >= pages;
}

function turn(by) {
  state.page += by;
  draw();
  $("rows").scrollTop = 0;
}

/** The details of a format, unpacked. Several are packed together, since they are alike. */
async function details(format) {
  if (format.at === null) return {};
  const [pack, place] = format.at;
  if (document.readyState !== "complete") await new Promise((loaded) => addEventListener("load", loaded, { once: true }));
  const packed = atob($(`pack-${pack}`).textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text())[place];
}

const list = (items) => element("ul", {}, ...items.map((item) => element("li", {}, item)));
const code = (value) => element("code", {}, value);

/** The tree of a format as nested lists. */
function tree(node) {
  const leaf = (...parts) => element("li", {}, ...parts);
  const branch = (title, children) => element("li", {}, title, element("ul", {}, ...children.map(tree)));
  const shown = (value) => code(value.replaceAll("\n", "⏎").replaceAll("\t", "→"));
  switch (node.is) {
    case "literal": case "space": return leaf(shown(node.text));
    case "slot": return leaf(element("strong", {}, node.name));
    case "calls": return leaf(element("strong", {}, "calls"));
    case "arguments": return leaf(element("strong", {}, "arguments"));
    case "constant": return leaf(code(JSON.stringify(node.value)));
    case "value": return leaf(element("strong", {}, "value"), ` ${node.forms.map((form) => `${form.types.join(", ")}: ${form.as}`).join("; ")}`);
    case "object": return element("li", {}, "object", element("ul", {}, ...node.entries.map((entry) => element("li", {}, code(entry.key), element("ul", {}, tree(entry.value))))));
    case "sequence": return branch("in order", node.of);
    case "choice": return branch("one of", node.of);
    case "repetition": case "array": return branch(`${node.is}, ${node.at_least} to ${node.at_most ?? "any number"}`, [node.of]);
    default: return branch(node.is, [node.of]);
  }
}

/** Shows a format, and leads there. */
async function show(format) {
  const known = await details(format);
  const section = $("format");
  const names = format.sources.map((row) => row.source);
  const parts = [
    element("h2", { id: "format-title" }, names[0]),
    element("p", {}, mark(format.standing), format.renderings === null ? "" : `, ${format.recovered} of ${format.renderings} renderings recovered; ${names.length} sources`),
    format.error ? element("pre", { tabindex: 0, "aria-label": "The error" }, format.error) : null,
    format.line ? element("pre", { tabindex: 0, "aria-label": "The format in a line" }, format.line) : null,
  ];
  const add = (title, ...content) => parts.push(element("h3", {}, title), ...content);
  if (names.length > 1) add("Sources", list(names.slice(0, 50)), names.length > 50 ? element("p", {}, `and ${names.length - 50} more`) : null);
  if (known.findings?.length) add("Explanation", list(known.findings.map((found) => `${found.subject}: ${found.text}${found.certainty === "seen" ? "" : ` (${found.certainty})`}`)));
  if (known.tree) {
    const ways = known.tree.ways.map((way, at) => element("li", {}, `way ${at + 1}`, element("ul", {}, tree(way.turn), tree(way.end))));
    if (known.tree.calls) ways.push(element("li", {}, "calls", element("ul", {}, tree(known.tree.calls))));
    add("Tree", element("ul", { class: "tree" }, ...ways));
  }
  if (known.response_template) add("Response template", element("pre", { tabindex: 0, "aria-label": "The response template" }, JSON.stringify(known.response_template, null, 2)));
  if (known.reasons?.length) add("Why each delimiter is there", list(known.reasons.map((reason) => element("span", {}, code(reason.delimiter), ` ${reason.opens ? "opens" : "closes"} ${reason.field}: ${reason.count} texts, such as ${reason.texts[0] ?? ""}`))));
  if (known.proof?.length) {
    const proof = known.proof.map(([name, recovery, output, difference]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: recovery === "recovered" ? recovery : "partly" }, difference ? `${recovery}: ${difference}` : recovery), element("td", {}, output === null ? "" : code(output))));
    const head = element("tr", {}, ...["conversation", "what came back", "what the model writes"].map((title) => element("th", { scope: "col" }, title)));
    add("Proof", element("table", {}, element("thead", {}, head), element("tbody", {}, ...proof)));
  }
  if (known.complaints?.length) add("What the linter says of the first of them", list(known.complaints.map(({ code: name, line, message }) => `${name}${line ? `, line ${line}` : ""}: ${message}`)));
  section.replaceChildren(...parts.filter((part) => part !== null));
  section.setAttribute("aria-labelledby", "format-title");
  section.hidden = false;
  section.focus();
  section.scrollIntoView();
}

function go(format) {
  const hash = `#format-${format.id}`;
  if (location.hash === hash) show(format);
  else location.hash = hash;
}

/** What the address names. */
function follow() {
  const id = location.hash.match(/^#format-(.+)$/)?.[1];
  const format = id && formats.find((format) => format.id === id);
  if (format) show(format);
}

/** The formats of the most sources, in an order in which neighbours share markers, and the markers that most of them have. */
function relations() {
  const most = formats.filter((format) => format.markers?.length).sort((a, b) => b.sources.length - a.sources.length || a.index - b.index).slice(0, 60);
  const share = (a, b) => a.markers.filter((marker) => b.markers.includes(marker)).length / new Set([...a.markers, ...b.markers]).size;
  const ordered = most.splice(0, 1);
  while (most.length) {
    const last = ordered.at(-1);
    const shares = most.map((format) => share(last, format));
    ordered.push(...most.splice(shares.indexOf(Math.max(...shares)), 1));
  }
  const counts = new Map();
  for (const format of ordered) for (const marker of format.markers) counts.set(marker, (counts.get(marker) ?? 0) + 1);
  const markers = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, 40).map(([marker]) => marker);
  return { ordered, markers };
}

function picture() {
  const { ordered, markers } = relations();
  if (!ordered.length) return;
  const svg = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const [left, top, size] = [260, 10, 16];
  const [width, height] = [left + ordered.length * size + 10, top + markers.length * size + 10];
  const parts = markers.map((marker, at) => svg("text", { x: left - 8, y: top + at * size + 12, "text-anchor": "end" }, marker.length > 36 ? `${marker.slice(0, 35)}…` : marker));
  for (let at = 0; at <= markers.length; at++) parts.push(svg("line", { class: "grid", x1: left, x2: left + ordered.length * size, y1: top + at * size, y2: top + at * size }));
  ordered.forEach((format, column) => {
    const x = left + column * size;
    const cells = markers.flatMap((marker, at) => (format.markers.includes(marker) ? [svg("rect", { class: "has", x: x + 2, y: top + at * size + 2, width: size - 4, height: size - 4, rx: 2 })] : []));
    const title = `${format.sources[0].source}${format.sources.length > 1 ? ` and ${format.sources.length - 1} more` : ""}: ${format.markers.join(" ")}`;
    parts.push(svg("a", { href: `#format-${format.id}`, "aria-label": title }, svg("title", {}, title), ...cells, svg("rect", { class: "column", x, y: top, width: size, height: markers.length * size })));
  });
  $("matrix").replaceChildren(svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${ordered.length} formats and ${markers.length} markers` }, ...parts));
}

function option(value, title) {
  return element("option", { value }, title);
}

// What is counted, and what there is to choose from.
const counted = (values) => {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
};
const byStanding = counted(rows.map((row) => row.format.standing));
const standing = standings.filter((name) => byStanding.has(name));
$("summary").textContent = `${rows.length} sources, ${data.templates.length} chat templates, ${formats.length} formats: ${standing.map((name) => `${byStanding.get(name)} ${name}`).join(", ")}`;
$("made").textContent = `Made by unjinja ${data.version}.`;
$("standing").append(option("", "any"), ...standing.map((name) => option(name, name)));
const codes = counted(rows.flatMap((row) => Object.keys(row.lints ?? {})));
$("lint").append(option("", "any"), ...[...codes].sort().map(([name, count]) => option(name, `${name} ${data.lints[name] ?? ""} (${count})`)));
$("target").append(option("", "any"), ...data.targets.map((name) => option(name, name)));
for (const family of Object.keys(families)) {
  const change = ({ target }) => {
    families[family] = target.checked;
    draw();
  };
  $("families").append(element("label", { class: "check" }, element("input", { type: "checkbox", id: `family-${family}`, checked: families[family], change }), ` ${family}`));
}
for (const id of ["find", "standing", "lint", "target", "grouped"]) $(id).addEventListener("input", choose);
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("previous").addEventListener("click", () => turn(-1));
$("next").addEventListener("click", () => turn(1));
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  event.preventDefault();
  $("find").focus();
});
addEventListener("hashchange", follow);
choose();
document.documentElement.dataset.ready = "";
// What is further down can wait for what is seen first, and details for the rest of the page.
setTimeout(picture);
if (document.readyState === "complete") follow();
else addEventListener("load", follow);
