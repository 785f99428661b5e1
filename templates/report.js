"use strict";
// The table of all cases. It reads the block of JSON beside each `.cases`; every text becomes a text node.
(() => {
  const PAGE = 100;
  const OUTCOMES = ["lost", "won", "tie", "new", "unmeasured"];
  const COLUMNS = [
    ["case", (row) => row.case[0]],
    ["arm", (row) => row.arm],
    ["kind", (row) => row.kind],
    ["query", (row) => row.case[2]],
    ["before", (row) => row.before],
    ["now", (row) => row.now],
    ["change", (row) => row.change],
    ["outcome", (row) => OUTCOMES.indexOf(row.outcome)],
  ];

  const make = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : String(value));
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  // As many digits as it takes to tell a number from a round one that it is not.
  const shown = (value) => {
    if (value === null) return "";
    for (let digits = 2; digits < 12; digits += 1) {
      if (Math.abs(Number(value.toFixed(digits)) - value) < 0.0005 && !(Number(value.toFixed(digits)) === 1 && value !== 1) && !(Number(value.toFixed(digits)) === 0 && value !== 0)) return value.toFixed(digits);
    }
    return String(value);
  };
  const signed = (value) => (value === null ? "" : value > 0 ? `+${shown(value)}` : value < 0 ? `-${shown(-value)}` : "0");
  const compare = (one, other) => {
    if (one === other) return 0;
    if (one === null || one === undefined) return 1;
    if (other === null || other === undefined) return -1;
    if (typeof one === "number") return one - other;
    return one < other ? -1 : 1;
  };

  const setUp = (place) => {
    const held = JSON.parse(document.getElementById(place.dataset.cases).textContent);
    const rows = held.rows.map((row, order) => {
      const [arm, at, before, now, outcome, note, pool, earlier, texts] = row;
      return {
        order, arm: held.arms[arm], armAt: arm, case: held.cases[at], kind: held.kinds[held.cases[at][1]],
        before, now, change: before === null || now === null ? null : now - before,
        outcome, note: note || "", pool: pool || null, earlier: earlier === 0 ? pool : earlier || null, texts: texts || [],
        key: before === null || now === null ? "" : `${arm}|${Number(before.toPrecision(6))}|${Number(now.toPrecision(6))}`,
        find: `${held.cases[at][0]}\n${held.cases[at][2]}\n${note || ""}`.toLowerCase(),
      };
    });
    const state = { text: "", arm: "", kind: "", outcome: "", key: "", sort: 7, down: false, page: 0, found: rows };

    const choice = (name, values, label) => {
      const list = make("select", { name });
      list.append(make("option", { value: "" }, "all"));
      for (const value of values) list.append(make("option", { value }, value));
      list.addEventListener("change", () => { state[name] = list.value; state.page = 0; update(); });
      return [make("label", {}, label, list), list];
    };
    const search = make("input", { type: "search", name: "text", autocomplete: "off", spellcheck: "false" });
    search.addEventListener("input", () => { state.text = search.value.toLowerCase(); state.page = 0; update(); });
    const [armLabel, armList] = choice("arm", held.arms, "arm");
    const [kindLabel, kindList] = choice("kind", held.kinds, "kind");
    const [outcomeLabel, outcomeList] = choice("outcome", [...OUTCOMES, "miss"], "outcome");
    const reset = make("button", { type: "button" }, "Clear");
    reset.addEventListener("click", () => {
      Object.assign(state, { text: "", arm: "", kind: "", outcome: "", key: "", page: 0 });
      for (const one of [armList, kindList, outcomeList, search]) one.value = "";
      update();
    });
    const count = make("p", { class: "small", role: "status" });
    const head = make("tr");
    const heads = COLUMNS.map(([name], at) => {
      const button = make("button", { type: "button" }, name);
      const cell = make("th", { scope: "col" }, button);
      button.addEventListener("click", () => {
        state.down = state.sort === at ? !state.down : false;
        state.sort = at;
        state.page = 0;
        update();
      });
      head.append(cell);
      return cell;
    });
    const body = make("tbody");
    const earlierPage = make("button", { type: "button" }, "Previous");
    const laterPage = make("button", { type: "button" }, "Next");
    const where = make("span", { class: "small" });
    earlierPage.addEventListener("click", () => { state.page -= 1; draw(); });
    laterPage.addEventListener("click", () => { state.page += 1; draw(); });

    const poolList = (pool, row, other, texts) => {
      const relevant = new Map(row.case[4].map(([page, grade]) => [page, grade]));
      const list = make("ol");
      pool.forEach((page, at) => {
        const [name, title, became] = held.pages[page];
        const line = make("li", { class: `${relevant.has(page) ? "relevant" : ""} ${at === held.k ? "cut" : ""}`.trim() || null });
        line.append(make("code", {}, name));
        if (title) line.append(` ${title}`);
        const remarks = [];
        if (relevant.has(page)) remarks.push(relevant.get(page) > 1 ? `relevant, grade ${relevant.get(page)}` : "relevant");
        if (became) remarks.push(became);
        if (remarks.length) line.append(` (${remarks.join("; ")})`);
        if (other) {
          const was = other.indexOf(page);
          if (was < 0) line.append(make("span", { class: "moves-up" }, " new here"));
          else if (was > at) line.append(make("span", { class: "moves-up" }, ` up from ${was + 1}`));
          else if (was < at) line.append(make("span", { class: "moves-down" }, ` down from ${was + 1}`));
        }
        if (texts && texts[at] >= 0) line.append(make("span", { class: "excerpt" }, held.texts[texts[at]]));
        list.append(line);
      });
      return list;
    };
    const detail = (row) => {
      const cell = make("td", { colspan: COLUMNS.length });
      const labels = row.case[4].map(([page]) => held.pages[page][0]);
      if (labels.length) cell.append(make("p", {}, `relevant: ${labels.join(", ")}${row.case[3] ? `. Labelled at ${row.case[3]}.` : "."}`));
      if (row.note) cell.append(make("p", {}, row.note));
      if (row.pool === null) {
        cell.append(make("p", { class: "small" }, row.outcome === "unmeasured" ? "It was not measured." : "Its pools were left out to keep this page small."));
        return cell;
      }
      const gone = row.earlier ? row.case[4].map(([page]) => page).filter((page) => row.earlier.includes(page) && !row.pool.includes(page)) : [];
      if (gone.length) cell.append(make("p", {}, `no longer in the pool: ${gone.map((page) => held.pages[page][0]).join(", ")}`));
      const pools = make("div", { class: "pools" });
      if (row.earlier) pools.append(make("div", {}, make("h4", {}, "Pool before"), poolList(row.earlier, row, null, null)));
      pools.append(make("div", {}, make("h4", {}, "Pool now"), poolList(row.pool, row, row.earlier, row.texts)));
      cell.append(pools);
      return cell;
    };
    const line = (row) => {
      const id = `${place.dataset.cases}-${row.order}`;
      const opens = make("button", { type: "button", class: "opens", "aria-expanded": "false", "aria-controls": id }, row.case[0]);
      const made = make("tr", {},
        make("th", { scope: "row" }, opens),
        make("td", { "data-name": "arm" }, row.arm),
        make("td", { "data-name": "kind" }, row.kind),
        make("td", { class: "query" }, row.case[2]),
        make("td", { class: "right", "data-name": "before" }, shown(row.before)),
        make("td", { class: "right", "data-name": "now" }, shown(row.now)),
        make("td", { class: "right", "data-name": "change" }, signed(row.change)),
        make("td", { class: `outcome ${row.outcome}` }, row.note && row.outcome !== "unmeasured" ? `${row.outcome} (${row.note})` : row.outcome));
      const below = make("tr", { class: "detail", id, hidden: true });
      opens.addEventListener("click", () => {
        if (!below.firstChild) below.append(detail(row));
        below.hidden = !below.hidden;
        opens.setAttribute("aria-expanded", String(!below.hidden));
      });
      return [made, below];
    };
    const draw = () => {
      const pages = Math.max(Math.ceil(state.found.length / PAGE), 1);
      state.page = Math.min(Math.max(state.page, 0), pages - 1);
      const from = state.page * PAGE;
      body.replaceChildren(...state.found.slice(from, from + PAGE).flatMap(line));
      earlierPage.disabled = state.page === 0;
      laterPage.disabled = state.page >= pages - 1;
      where.textContent = `page ${state.page + 1} of ${pages}`;
    };
    const update = () => {
      const value = COLUMNS[state.sort][1];
      const turn = state.down ? -1 : 1;
      state.found = rows.filter((row) =>
        (!state.arm || row.arm === state.arm) && (!state.kind || row.kind === state.kind) && (!state.key || row.key === state.key) &&
        (!state.outcome || row.outcome === state.outcome || (state.outcome === "miss" && row.note.includes("miss"))) &&
        (!state.text || row.find.includes(state.text)));
      state.found.sort((one, other) => turn * compare(value(one), value(other)) || one.order - other.order);
      heads.forEach((cell, at) => {
        if (at === state.sort) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      });
      const only = state.key ? ", one dot of a chart only" : "";
      count.textContent = `${state.found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows${only}`;
      draw();
    };

    place.append(
      make("div", { class: "filters" }, make("label", {}, "find in id, query and remark", search), armLabel, kindLabel, outcomeLabel, reset),
      count,
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `All cases, ${held.metric}` },
        make("table", { class: "caseTable" }, make("caption", { class: "unseen" }, `Every case and arm, ${held.metric}`), make("thead", {}, head), body)),
      make("div", { class: "pager" }, earlierPage, where, laterPage));
    for (const dot of place.closest(".suite").querySelectorAll(".dot")) {
      dot.addEventListener("click", () => {
        const [arm, before, now] = dot.dataset.key.split("|");
        state.key = `${arm}|${Number(before)}|${Number(now)}`;
        state.page = 0;
        update();
        place.scrollIntoView();
      });
    }
    update();
  };

  const theme = document.getElementById("theme");
  const themes = ["", "light", "dark"];
  let at = 0;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    at = (at + 1) % themes.length;
    if (themes[at]) document.documentElement.dataset.theme = themes[at];
    else delete document.documentElement.dataset.theme;
    theme.textContent = `Theme: ${themes[at] || "as the system"}`;
  });
  for (const place of document.querySelectorAll(".cases")) setUp(place);
})();
