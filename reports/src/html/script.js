"use strict";
(() => {
  const { run, cases } = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);

  /** An element. Recorded text only ever becomes a text node. */
  const el = (tag, props = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "class") node.className = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  };
  const svg = (tag, props = {}, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  /** Text in which what stands between two backticks is code. */
  const rich = (text) => {
    const parts = text.split("`");
    if (parts.length % 2 === 0) return [text];
    return parts.map((part, nth) => (nth % 2 && part ? el("code", {}, part) : part));
  };
  const slug = (word) => word.replaceAll(" ", "-");
  const FAILED = ["failed", "unexpected pass", "testbed fault"];
  const WORDS = [...FAILED, "inconclusive", "known failure", "not run", "passed"];

  // ---- summary

  const counts = Object.fromEntries(WORDS.map((word) => [word, cases.filter((c) => c.verdict === word).length]));
  const present = WORDS.filter((word) => counts[word] > 0);
  $("numbers").textContent = run.numbers;
  $("bar").setAttribute("aria-label", present.map((word) => `${counts[word]} ${word}`).join(", "));
  for (const word of present) {
    $("bar").append(el("i", { class: slug(word), style: `flex: ${counts[word]}`, title: `${counts[word]} ${word}` }));
  }
  const facts = [
    ["client", run.client], ["cases", String(cases.length)], ["simulated", run.simulated], ["wall", run.wall],
    ["seed", run.seed], ["clock", run.clock], ["wire", run.wire], ["testbed", run.testbed],
  ];
  for (const [name, text] of facts) $("facts").append(el("div", {}, el("dt", {}, name), el("dd", {}, text)));
  for (const entry of run.stale) $("stale").append(el("li", {}, rich(entry)));
  $("stale").hidden = run.stale.length === 0;

  // ---- which cases are shown

  const shown = new Set();
  for (const word of present) {
    const chip = el("button", { type: "button", class: slug(word), "aria-pressed": "false", onclick: () => toggle(word) },
      `${counts[word]} ${word}`);
    chip.dataset.word = word;
    $("chips").append(chip);
  }
  const toggle = (word) => {
    shown.has(word) ? shown.delete(word) : shown.add(word);
    filter();
  };
  const filter = () => {
    const wanted = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    let any = false;
    for (const entry of entries) {
      const fits = (shown.size === 0 || shown.has(entry.data.verdict)) && wanted.every((word) => entry.text.includes(word));
      entry.node.hidden = !fits;
      any ||= fits;
    }
    for (const chip of $("chips").children) chip.setAttribute("aria-pressed", String(shown.has(chip.dataset.word)));
    $("none").hidden = any;
  };
  $("search").addEventListener("input", filter);

  // ---- the list

  const card = (data, nth) => {
    const params = data.parameters.length ? el("span", { class: "params" }, ` [${data.parameters.join(", ")}]`) : null;
    const head = el("button", { type: "button", "aria-expanded": "false", onclick: () => open(nth, !isOpen(nth)) },
      el("span", { class: "word" }, data.verdict),
      el("span", { class: "name" }, data.name, params),
      el("span", { class: "took", title: `${data.wall} on the wall` }, data.simulated),
      data.reason ? el("span", { class: "why" }, rich(data.reason)) : null);
    const node = el("article", { class: `case ${slug(data.verdict)}` }, head);
    const text = [data.id, data.verdict, data.reason, ...data.proves, ...data.tags].join(" ").toLowerCase();
    return { data, node, head, text };
  };
  const entries = cases.map(card);
  $("cases").append(...entries.map((entry) => entry.node));
  const isOpen = (nth) => entries[nth].head.getAttribute("aria-expanded") === "true";
  const open = (nth, wanted) => {
    const entry = entries[nth];
    if (wanted && !entry.body) entry.node.append((entry.body = body(entry.data)));
    if (entry.body) entry.body.hidden = !wanted;
    entry.head.setAttribute("aria-expanded", String(wanted));
  };

  // ---- one case

  const body = (data) => {
    const broken = data.expectations.filter((e) => !e.held);
    const held = data.expectations.filter((e) => e.held);
    return el("div", { class: "body" },
      el("div", { class: "meta" },
        el("code", {}, `${data.file}:${data.line}`),
        data.proves.map((id) => el("span", { class: "tag" }, id)),
        data.tags.map((tag) => el("span", { class: "tag" }, `#${tag}`)),
        el("a", { href: `#${encodeURIComponent(data.id)}` }, "link")),
      broken.map((e) => expectation(data, e)),
      data.anomalies.map(anomaly),
      data.remarks.map((text) => el("p", {}, el("b", {}, "remark "), rich(text))),
      held.length ? el("details", {}, el("summary", {}, `${held.length} ${held.length === 1 ? "expectation" : "expectations"} held`),
        el("ul", { class: "held" }, held.map((e) => el("li", {}, el("span", { class: "number mono" }, `${e.line}  `), rich(e.expected))))) : null,
      data.leftOut ? el("p", { class: "leftout" }, "The record of this case was left out to keep the page small; run this case alone to see it.") : null,
      data.record ? sequence(data) : null);
  };

  const expectation = (data, e) => {
    const [before, marked, after] = e.source;
    const side = (name, text, marks) => el("div", { class: name }, el("h4", {}, name),
      marks ? marks.map(([part, differs]) => (differs ? el("b", {}, part) : part)) : rich(text));
    return el("section", { class: "broken" },
      el("pre", { class: "source" }, el("span", { class: "at" }, `${data.file}:${e.line}:${e.column}`),
        el("span", { class: "number" }, String(e.line)), before, el("mark", {}, marked || " "), after),
      el("div", { class: "versus" },
        side("expected", e.expected, e.marks?.[0]), side("seen", e.seen, e.marks?.[1])));
  };

  const anomaly = (a) => el("section", { class: "anomaly" }, el("b", {}, a.kind), "  ", rich(a.says),
    a.protection ? el("p", { class: "stops" }, el("b", {}, "what stops it: "), rich(a.protection)) : null);

  // ---- the sequence

  const seconds = (us) => `+${(Math.floor(us / 1000) / 1000).toFixed(3)} s`;

  const sequence = (data) => {
    const { lanes, moments } = data.record;
    const evidence = new Map();
    const note = (seq, text) => evidence.set(seq, [...(evidence.get(seq) ?? []), text]);
    for (const e of data.expectations) for (const seq of e.evidence ?? []) note(seq, `breaks line ${e.line}`);
    for (const a of data.anomalies) for (const seq of a.evidence) note(seq, a.kind);

    const rows = el("div");
    const picture = el("div", { class: "sequence", style: `--lanes: ${lanes.length}; --lane: ${laneWidth(lanes.length)}` },
      el("div", { class: "row head" }, el("time"),
        el("div", { class: "lanes" }, lanes.map((lane) => el("span", { class: lane.role, title: `${lane.role} ${lane.name}` },
          lane.name, lane.name === lane.role ? null : el("small", {}, lane.role)))),
        el("div")),
      rows);
    const levels = [["story", 0], ["with HTTP", 1], ["everything", 2]];
    const buttons = levels.map(([name, level]) => el("button", { type: "button", onclick: () => draw(level) }, name));
    const draw = (level) => {
      buttons.forEach((button, nth) => button.setAttribute("aria-pressed", String(nth === level)));
      rows.replaceChildren();
      let last = null;
      for (const moment of moments) {
        if (moment.weight > level && !evidence.has(moment.seq)) continue;
        if (last !== null && moment.at - last >= 1000000) {
          rows.append(el("div", { class: "row" }, el("time"), el("div", { class: "later" }, `${((moment.at - last) / 1000000).toFixed(3)} s later`), el("div")));
        }
        rows.append(row(moment, lanes, evidence.get(moment.seq), moment.at === last ? "" : seconds(moment.at)));
        last = moment.at;
      }
    };
    draw(0);
    return el("section", {}, el("div", { class: "levels" }, el("h3", {}, "What happened"), buttons), el("p"), picture);
  };

  const laneWidth = (lanes) => `clamp(3.4rem, ${(46 / lanes).toFixed(2)}vw, 6.2rem)`;

  const row = (moment, lanes, breaks, time) => {
    const raw = moment.raw ? el("button", { type: "button", class: "raw", title: "The entry as it was recorded",
      onclick: () => { const pre = text.querySelector("pre"); pre ? pre.remove() : text.append(el("pre", {}, moment.raw)); } }, "{ }") : null;
    const detail = (d) => el("span", { class: /^(pin |unpinned|revision )/.test(d) ? "detail marker" : "detail", title: d }, d);
    const text = el("div", { class: "text" },
      el("span", { class: "title" }, rich(moment.title)), moment.kind === "step" ? null : moment.details.map(detail),
      breaks ? [...new Set(breaks)].map((why) => el("span", { class: "breaks" }, why)) : null, raw,
      (moment.state ?? []).map(state));
    return el("div", { class: `row ${moment.kind}${breaks ? " evidence" : ""}` }, el("time", {}, time),
      el("div", { class: "cell" }, drawing(moment, lanes)), text);
  };

  /** Where an arrow or a dot stands below the top of its row, in pixels. */
  const Y = 17;

  const drawing = (moment, lanes) => {
    const x = (lane) => `${((lane + 0.5) / lanes.length) * 100}%`;
    const picture = svg("svg", { "aria-hidden": "true" });
    lanes.forEach((_, lane) => picture.append(svg("line", { class: "life", x1: x(lane), x2: x(lane), y1: 0, y2: "100%" })));
    const { from, to, kind } = moment;
    if (from === null || to === null) return picture;
    const role = lanes[kind === "answer" || kind === "answer-error" ? from : moment.from].role;
    const group = svg("g", { class: kind === "fault" ? "" : role });
    if (from === to) {
      group.append(kind === "fault" ? at(x(to), svg("path", { class: "strike", d: "M2 -9 L-4 1 L4 1 L-2 10" }))
        : kind === "write" ? at(x(to), svg("rect", { class: "dot", x: -5, y: -5, width: 10, height: 10 }))
        : svg("circle", { class: "dot", cx: x(to), cy: Y, r: 4 }));
    } else {
      group.append(svg("line", { class: kind === "http" ? "arrow http" : "arrow", x1: x(from), x2: x(to), y1: Y, y2: Y }));
      const relay = lanes.findIndex((lane) => lane.role === "relay");
      if (kind.startsWith("frame") && relay > Math.min(from, to) && relay < Math.max(from, to)) {
        group.append(svg("circle", { class: "hop", cx: x(relay), cy: Y, r: 3.5 }));
      }
      const tip = to > from ? "M0 0 L-9 -4.5 L-9 4.5 Z" : "M0 0 L9 -4.5 L9 4.5 Z";
      group.append(at(x(to), svg("path", { class: "head", d: tip })));
      if (kind === "edit") group.append(at(x(to), svg("rect", { class: "dot", x: -5, y: -5, width: 10, height: 10 })));
      if (["refusal", "answer-error", "frame-error"].includes(kind)) group.append(at(x(to), svg("path", { class: "lost", d: "M-5 -5 L5 5 M5 -5 L-5 5" })));
    }
    picture.append(group);
    return picture;
  };

  /** Puts a shape drawn around 0,0 at a lane: a nested svg takes percentages, a transform does not. */
  const at = (x, shape) => svg("svg", { x, y: Y, overflow: "visible" }, shape);

  const state = ({ handle, before, after }) => {
    const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
    const cell = (fields, name) => (fields === null ? "—" : fields[name] ?? "—");
    return el("table", { class: "state" },
      el("tr", {}, el("th", {}, handle), el("th", {}, before ? "before" : "did not exist"), el("th", {}, after ? "after" : "is gone")),
      names.map((name) => {
        const [old, now] = [cell(before, name), cell(after, name)];
        return old === now ? el("tr", { class: "same" }, el("th", {}, name), el("td", {}, old), el("td", {}, now))
          : el("tr", {}, el("th", {}, name), el("td", { class: "old" }, old), el("td", { class: "new" }, now));
      }));
  };

  // ---- keys, theme, links, print

  const visible = () => entries.map((entry, nth) => nth).filter((nth) => !entries[nth].node.hidden);
  const focus = (nth) => {
    entries[nth].head.focus({ preventScroll: true });
    entries[nth].node.scrollIntoView({ block: "start" });
  };
  const step = (by) => {
    const list = visible();
    const here = list.findIndex((nth) => entries[nth].node.contains(document.activeElement));
    const next = here < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(here + by, 0), list.length - 1);
    if (list.length) focus(list[next]);
  };
  const theme = () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (document.documentElement.style.colorScheme === "" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.style.colorScheme = dark ? "light" : "dark";
  };
  const onlyFailures = () => {
    const failed = present.filter((word) => FAILED.includes(word));
    const already = shown.size === failed.length && failed.every((word) => shown.has(word));
    shown.clear();
    if (!already) failed.forEach((word) => shown.add(word));
    filter();
  };
  $("theme").addEventListener("click", theme);
  $("keys").addEventListener("click", () => $("help").showModal());
  const keys = { j: () => step(1), k: () => step(-1), f: onlyFailures, t: theme, "/": () => $("search").focus(), "?": () => $("help").showModal() };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement === $("search")) {
      $("search").value = "";
      $("search").blur();
      filter();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName) || $("help").open) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const nth = entries.findIndex((entry) => entry.data.id === id);
    if (nth >= 0) { open(nth, true); focus(nth); }
  };
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => entries.forEach((entry, nth) => { if (FAILED.includes(entry.data.verdict)) open(nth, true); }));

  // What sticks below the tools has to know how high they are; on a phone they do not stick.
  const measure = () => {
    const sticks = getComputedStyle($("tools")).position === "sticky";
    document.documentElement.style.setProperty("--tools", `${sticks ? $("tools").offsetHeight : 0}px`);
  };
  addEventListener("resize", measure);
  measure();

  if (entries.length && FAILED.includes(entries[0].data.verdict)) open(0, true);
  follow();
})();
