// Sorts, filters, searches and unfolds what the page already has. Words are data: they enter the page as text only.
"use strict";
(() => {
  const comparisons = JSON.parse(document.getElementById("data").textContent);
  const panel = document.getElementById("panel"), body = panel.querySelector(".body"), tip = document.getElementById("tip");
  const ROWS = 15, MORE = 100, NEAR_PIXELS = 14, SUGGESTED = 8;
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, text = "", name = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const svg = (tag, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };
  const count = (number) => number.toLocaleString("en-US");
  const short = (p) => (p >= 0.001 ? String(Number(p.toPrecision(2))) : p.toExponential(1));
  const range = (c, i) => `${c.lower[i].toFixed(2)}–${c.upper[i].toFixed(2)}`;
  const describeP = (c, i) => {
    const least = 1 / (c.permutations[i] + 1);
    return c.permutations[i] && c.p[i] <= least * 1.0005 ? `< ${Number(least.toPrecision(1))}` : short(c.p[i]);
  };
  const holds = (c, i) => i < c.held;
  const uses = (c, i) => (c.sides.length ? Math.min(c.uses[i], c.uses_against[i]) : c.uses[i] + c.uses_against[i]);
  const context = (c, i) => c.context[i] || ["", ""];
  const places = comparisons.map((c) => new Map(c.word.map((word, i) => [word, i])));

  // The panel of a word: what it says in each comparison, first in the one that was clicked

  let opener = null;

  function about(n, i) {
    const c = comparisons[n], known = $$(`[data-comparison="${n}"] .panels article`);
    const written = known.find((article) => article.dataset.word === c.word[i]);
    if (written) return written.cloneNode(true);
    const list = make("dl");
    const say = (name, text) => text && list.append(make("dt", name), make("dd", text));
    say("difference", `${c.estimate[i].toFixed(2)} (${range(c, i)})`);
    say("p", describeP(c, i));
    say("adjusted", `${short(c.p_adjusted[i])}: ${holds(c, i) ? "it holds" : "not shown to hold"}`);
    const sizes = [[c.uses[i], c.units[i]], [c.uses_against[i], c.units_against[i]]];
    c.sides.forEach((side, s) => say(side, `${count(sizes[s][0])} uses by ${count(sizes[s][1])} units`));
    if (!c.sides.length) say("uses", count(uses(c, i)));
    c.sides.forEach((side, s) => say(`found with, ${side}`, context(c, i)[s]));
    if (c.sides.length) say("more", `words=["${c.word[i]}"] puts what it is made of into a report`);
    return list;
  }

  function open(n, i, focus = false) {
    const word = comparisons[n].word[i];
    opener = document.activeElement;
    const order = [n, ...comparisons.keys()].filter((m, k, all) => places[m].has(word) && all.indexOf(m) === k);
    body.replaceChildren(make("h3", word));
    for (const m of order) {
      const c = comparisons[m];
      body.append(make("p", `${c.column}: ${c.name}`, "where"), about(m, places[m].get(word)));
    }
    panel.hidden = false;
    panel.scrollTop = 0;
    document.body.classList.add("with-panel");
    if (focus) $(".close", panel).focus();
    mark(word);
  }

  function close() {
    panel.hidden = true;
    document.body.classList.remove("with-panel");
    mark(null);
    if (opener && opener.isConnected) opener.focus();
  }

  function mark(word) {
    for (const plot of plots) plot.mark(places[plot.number].get(word));
    for (const table of tables) table.mark(word);
  }

  // Evidence plots: the word below the pointer is the one with the nearest dot

  function plotOf(section) {
    const number = Number(section.dataset.comparison), c = comparisons[number], drawing = $(".plot svg", section);
    const numbers = (name) => drawing.dataset[name].split(" ").map(Number);
    const [x0, x1] = numbers("x"), [y0, y1] = numbers("y"), [left, top, right, bottom] = numbers("box");
    const xs = c.estimate.map((x) => left + ((x - x0) / (x1 - x0)) * (right - left));
    const ys = c.word.map((_, i) => bottom - ((Math.log10(Math.max(uses(c, i), 1)) - y0) / (y1 - y0)) * (bottom - top));
    const chosen = $(".chosen", drawing), width = drawing.viewBox.baseVal.width;
    const nearest = (event) => {
      const box = drawing.getBoundingClientRect(), scale = width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = -1, least = (NEAR_PIXELS * Math.max(scale, 0.5)) ** 2;
      for (let i = 0; i < xs.length; i++) {
        const distance = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
        if (distance < least) [best, least] = [i, distance];
      }
      return best;
    };
    const markAt = (i) => {
      chosen.replaceChildren();
      $(".labels", drawing).classList.toggle("behind", i !== undefined);
      if (i === undefined) return;
      const atRight = xs[i] > 0.8 * width;
      chosen.append(svg("circle", { cx: xs[i], cy: ys[i], r: 5.5 }));
      chosen.append(svg("text", { x: xs[i] + (atRight ? -10 : 10), y: ys[i], "text-anchor": atRight ? "end" : "start" }, c.word[i]));
    };
    drawing.addEventListener("mousemove", (event) => {
      const i = nearest(event);
      tip.hidden = i < 0;
      if (i < 0) return;
      tip.textContent = `${c.word[i]}: ${c.estimate[i].toFixed(2)} (${range(c, i)})${holds(c, i) ? "" : ", not shown to hold"}`;
      tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${event.clientY + 16}px`;
    });
    drawing.addEventListener("mouseleave", () => { tip.hidden = true; });
    drawing.addEventListener("click", (event) => {
      const i = nearest(event);
      if (i >= 0) open(number, i);
    });
    return { number, mark: markAt };
  }

  // Tables of all tested words

  function tableOf(section) {
    const number = Number(section.dataset.comparison), c = comparisons[number], table = $("table.words", section);
    const rows = $("tbody", table), heads = $$("thead th", table), only = $(".only", section), more = $(".more", section);
    let limit = Math.max(rows.children.length, 1), sorted = null, down = true, marked = null;
    const cells = (i) => [
      ["", c.word[i]], ["number", c.estimate[i].toFixed(2)], ["number", range(c, i)], ["number", short(c.p_adjusted[i])],
      ["", holds(c, i) ? "yes" : "no"],
      ...(c.sides.length
        ? [["number", count(c.uses[i])], ["number", count(c.uses_against[i])], ["with", context(c, i)[0]], ["with", context(c, i)[1]]]
        : [["number", count(uses(c, i))]]),
    ];
    const key = (name, i) => (name === "held" ? Number(holds(c, i)) : name === "uses" && !c.sides.length ? uses(c, i) : c[name][i]);
    function render() {
      let order = c.word.map((_, i) => i);
      if (only.checked) order = order.filter((i) => holds(c, i));
      if (sorted) {
        const sign = down ? -1 : 1;
        order.sort((i, j) => {
          const [a, b] = [key(sorted, i), key(sorted, j)];
          return sign * (typeof a === "string" ? a.localeCompare(b) : a - b) || i - j;
        });
      }
      rows.replaceChildren(...order.slice(0, limit).map((i) => {
        const row = make("tr", "", holds(c, i) ? "" : "faint");
        row.tabIndex = 0;
        row.dataset.row = i;
        row.classList.toggle("open", c.word[i] === marked);
        row.append(...cells(i).map(([kind, text]) => make("td", text, kind)));
        return row;
      }));
      $(".shown", section).textContent = `${count(Math.min(limit, order.length))} of ${count(order.length)} rows`;
      more.parentElement.hidden = limit >= order.length;
    }
    heads.filter((head) => head.dataset.sort).forEach((head) => {
      const button = make("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const name = head.dataset.sort;
        down = sorted === name ? !down : !["word", "p_adjusted"].includes(name);
        sorted = name;
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        render();
      });
    });
    only.addEventListener("change", render);
    more.addEventListener("click", () => { limit += MORE; render(); });
    const rowOf = (event) => event.target.closest("tr[data-row]");
    rows.addEventListener("click", (event) => {
      if (rowOf(event) && !String(getSelection())) open(number, Number(rowOf(event).dataset.row));
    });
    rows.addEventListener("keydown", (event) => {
      const row = rowOf(event);
      const beside = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
      if (event.key === "Enter" || event.key === " ") open(number, Number(row.dataset.row), true);
      else if (beside) beside.focus();
      else return;
      event.preventDefault();
    });
    render();
    return {
      mark(word) {
        marked = word;
        for (const row of rows.children) row.classList.toggle("open", c.word[row.dataset.row] === word);
      },
    };
  }

  // Search, and what is taken away from the page

  function search(form) {
    const input = $("input", form), list = $("datalist", form), answer = $(".answer", form);
    const all = [...new Set(comparisons.flatMap((c) => c.word))].sort();
    const lower = new Map(all.map((word) => [word.toLowerCase(), word]));
    const option = (word) => Object.assign(make("option"), { value: word });
    const like = (text) => [
      ...all.filter((word) => word.toLowerCase().startsWith(text)),
      ...all.filter((word) => word.toLowerCase().indexOf(text) > 0),
    ].slice(0, SUGGESTED);
    const typed = () => input.value.trim().toLowerCase();
    function find(asked) {
      const word = lower.get(asked) ?? lower.get(asked.replaceAll(" ", "_"));
      answer.replaceChildren();
      if (word === undefined) {
        answer.append(`“${asked}” is not among the words that were tested. `);
        const shorter = [asked, asked.slice(0, 5), asked.slice(0, 4), asked.slice(0, 3)].map(like).find((some) => some.length) || [];
        for (const near of shorter) {
          const button = make("button", near);
          button.type = "button";
          button.addEventListener("click", () => { input.value = near; find(near.toLowerCase()); });
          answer.append(button);
        }
        return;
      }
      const having = [...comparisons.keys()].filter((n) => places[n].has(word));
      const n = having.find((m) => holds(comparisons[m], places[m].get(word))) ?? having[0];
      open(n, places[n].get(word));
    }
    input.addEventListener("input", () => {
      answer.replaceChildren();
      list.replaceChildren(...(typed() ? like(typed()).map(option) : []));
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (typed()) find(typed());
    });
    $(".download", form).addEventListener("click", download);
  }

  function download() {
    const names = ["estimate", "lower", "upper", "p", "p_adjusted"];
    const counts = ["uses", "uses_against", "units", "units_against", "permutations"];
    const lines = [["column", "word", "value", "against", ...names, "holds", ...counts, "context", "context_against"]];
    for (const c of comparisons) {
      c.word.forEach((word, i) => {
        const numbers = [...names.map((name) => c[name][i]), holds(c, i) ? "True" : "False", ...counts.map((name) => c[name][i])];
        lines.push([c.column, word, c.value, c.against, ...numbers, ...context(c, i)]);
      });
    }
    const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell);
    const text = lines.map((line) => line.map(quoted).join(",")).join("\r\n");
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text, "\r\n"], { type: "text/csv" }));
    link.download = "findings.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  $(".copy").addEventListener("click", async () => {
    const text = document.getElementById("paragraph"), said = $("#methods .answer");
    try {
      await navigator.clipboard.writeText(text.textContent);
      said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(text);
      said.textContent = document.execCommand("copy") ? "Copied." : "Selected: copy it with Ctrl-C.";
    }
  });

  $$(".controls, .scripted").forEach((one) => { one.hidden = false; });
  const sections = $$("details.comparison");
  const plots = sections.filter((section) => $(".plot", section)).map(plotOf);
  const tables = sections.map(tableOf);
  const form = $("form.search");
  if (form) search(form);
  $$("a[data-word]").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    const n = Number(link.dataset.comparison), i = places[n].get(link.dataset.word);
    if (i !== undefined) open(n, i, event.detail === 0);
  }));
  $(".close", panel).addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) close();
  });
})();
