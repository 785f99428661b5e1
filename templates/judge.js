"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  // What a rendered page may consist of. Anything else becomes its text.
  const ALLOWED = new Set(["P", "H1", "H2", "H3", "H4", "H5", "H6", "UL", "OL", "LI", "PRE", "CODE", "EM", "STRONG", "BLOCKQUOTE", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD", "HR", "BR", "SPAN", "S"]);
  const KEYS = { e: "exact_term", s: "semantic", m: "multi_hop" };
  let state = null;
  let query = 0;
  let page = 0;
  let shown = "";

  const make = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const trouble = (text) => { at("trouble").textContent = text; };
  const current = () => state.queries[query];

  const call = async (path, options) => {
    const answer = await fetch(path, options);
    const value = await answer.json();
    if (answer.status === 409) {
      state = value.state;
      trouble("This query was changed in another window. It is shown as it is now; judge again.");
      draw();
      return null;
    }
    if (!answer.ok) throw new Error(value.error || `the server answered ${answer.status}`);
    return value;
  };

  // Judgements go one after the other, so that each one knows the revision that the one before it made.
  let queue = Promise.resolve();
  const say = (action) => {
    const of = current();
    queue = queue.then(async () => {
      try {
        const fresh = state.queries.find((one) => one.id === of.id);
        const body = JSON.stringify({ ...action, ...("undo" in action ? {} : { query: of.id, seen: fresh.rev }) });
        const value = await call("/judge", { method: "POST", headers: { "Content-Type": "application/json" }, body });
        if (value) { state = value; trouble(""); draw(); }
      } catch (fault) {
        trouble(`Not saved: ${fault.message}. Is the terminal with 'gate label judge' still open?`);
      }
    });
    return queue;
  };

  const clean = (html) => {
    const parsed = new DOMParser().parseFromString(html, "text/html");
    const copy = (from, into) => {
      for (const node of from.childNodes) {
        if (node.nodeType === Node.TEXT_NODE) into.append(node.data);
        else if (node.nodeType === Node.ELEMENT_NODE && ALLOWED.has(node.tagName)) {
          const made = document.createElement(node.tagName);
          if (node.tagName === "SPAN") {
            if (["link", "image"].includes(node.className)) made.className = node.className;
            if (node.title) made.title = node.title;
          }
          copy(node, made);
          into.append(made);
        } else if (node.nodeType === Node.ELEMENT_NODE && !["SCRIPT", "STYLE"].includes(node.tagName)) copy(node, into);
      }
    };
    const into = document.createDocumentFragment();
    copy(parsed.body, into);
    return into;
  };

  const mark = (place, words, style) => {
    if (!words.length) return null;
    const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    let first = null;
    for (const node of nodes) {
      const parts = node.data.split(pattern);
      if (parts.length < 2) continue;
      const made = parts.map((part, number) => (number % 2 ? make("mark", style ? { class: style } : {}, part) : part));
      first = first || made.find((one) => one instanceof Element);
      node.replaceWith(...made);
    }
    return first;
  };
  const terms = (text) => [...new Set((text.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) || []))];

  const read = async () => {
    const of = current();
    const name = of.pages[page];
    const key = `${of.id}\n${name}`;
    if (shown === key) return;
    shown = key;
    let value;
    try {
      value = await call(`/page?query=${encodeURIComponent(of.id)}&page=${encodeURIComponent(name)}`);
    } catch (fault) {
      trouble(`The page could not be read: ${fault.message}`);
      return;
    }
    if (shown !== key) return;
    at("title").textContent = value.title || value.page;
    at("name").textContent = value.changed ? `${value.page} (changed since the pool was made)` : value.page;
    at("best").replaceChildren(clean(value.best));
    at("best-title").hidden = !value.best;
    at("whole").replaceChildren(clean(value.html));
    for (const id of ["best", "whole"]) mark(at(id), terms(of.query), "");
    at("text").scrollTop = 0;
    at("find").value = "";
  };

  const draw = () => {
    const done = state.queries.filter((one) => one.done).length;
    at("progress").textContent = `${state.pool}, judge ${state.judge}: query ${query + 1} of ${state.queries.length}, ${done} done`;
    const of = current();
    page = Math.min(page, of.pages.length - 1);
    at("query").textContent = of.query;
    const hints = of.near.map((one) => make("p", {}, `asks nearly the same as ${one.id}: ${one.query}`));
    if (of.leaks.length) hints.push(make("p", {}, `stands word for word in ${of.leaks.join(", ")}`));
    at("hints").replaceChildren(...hints);
    at("kinds").replaceChildren(...state.kinds.map((kind) => {
      const key = Object.keys(KEYS).find((one) => KEYS[one] === kind);
      const button = make("button", { type: "button", "aria-pressed": String(of.kind === kind) }, key ? `${kind} (${key})` : kind);
      button.addEventListener("click", () => say({ kind }));
      return button;
    }));
    at("none").setAttribute("aria-pressed", String(of.none));
    at("skip").setAttribute("aria-pressed", String(of.skip));
    at("undo").disabled = state.undo === null;
    if (document.activeElement !== at("note")) at("note").value = of.note;
    at("candidates").replaceChildren(...of.pages.map((name, number) => {
      const grade = of.grades[name];
      const button = make("button", { type: "button", "aria-current": String(number === page) }, name);
      if (grade !== undefined) button.append(" ", make("span", { class: "grade" }, `[${grade}]`));
      button.addEventListener("click", () => { page = number; draw(); });
      return make("li", {}, button);
    }));
    const grade = of.grades[of.pages[page]];
    for (const button of at("grades").children) button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === grade));
    read();
  };

  const grade = async (value) => {
    const of = current();
    const name = of.pages[page];
    await say({ page: name, grade: value });
    const now = current();
    if (now.id !== of.id || now.grades[name] !== value) return;
    const open = now.pages.findIndex((one) => !(one in now.grades));
    if (open >= 0) { page = open; draw(); }
  };
  const go = (step) => {
    query = (query + step + state.queries.length) % state.queries.length;
    page = 0;
    const open = current().pages.findIndex((one) => !(one in current().grades));
    if (open >= 0) page = open;
    draw();
  };
  const turn = (step) => { page = (page + step + current().pages.length) % current().pages.length; draw(); };
  const undo = () => { if (state.undo !== null) say({ undo: state.undo }); };

  at("none").addEventListener("click", () => say({ none: !current().none }));
  at("skip").addEventListener("click", () => say({ skip: !current().skip }));
  at("undo").addEventListener("click", undo);
  at("next-query").addEventListener("click", () => go(1));
  at("previous-query").addEventListener("click", () => go(-1));
  for (const button of at("grades").children) button.addEventListener("click", () => grade(Number(button.dataset.grade)));
  at("note").addEventListener("change", () => say({ note: at("note").value }));
  at("find").addEventListener("input", () => {
    for (const old of at("text").querySelectorAll("mark.found")) old.replaceWith(...old.childNodes);
    at("text").normalize();
    const text = at("find").value.trim();
    const first = text ? mark(at("text"), [text], "found") : null;
    if (first) first.scrollIntoView({ block: "center" });
  });
  const toggleHelp = () => {
    at("help").hidden = !at("help").hidden;
    at("help-button").setAttribute("aria-expanded", String(!at("help").hidden));
  };
  at("help-button").addEventListener("click", toggleHelp);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["INPUT", "TEXTAREA"].includes(document.activeElement.tagName)) {
      if (event.key === "Escape" || (event.key === "Enter" && document.activeElement.id === "note")) document.activeElement.blur();
      return;
    }
    const actions = {
      0: () => grade(0), 1: () => grade(1), 2: () => grade(2), j: () => turn(1), k: () => turn(-1), n: () => go(1), p: () => go(-1),
      x: () => say({ none: !current().none }), "-": () => say({ skip: !current().skip }), u: undo, "?": toggleHelp,
      "/": () => at("find").focus(), t: () => at("note").focus(),
    };
    const kind = KEYS[event.key];
    const action = kind ? () => say({ kind }) : actions[event.key];
    if (action) { event.preventDefault(); action(); }
  });

  call("/state").then((value) => {
    state = value;
    const open = state.queries.findIndex((one) => !one.done);
    query = open >= 0 ? open : 0;
    const undone = current().pages.findIndex((one) => !(one in current().grades));
    page = undone >= 0 ? undone : 0;
    draw();
  }, (fault) => trouble(fault.message));
})();
