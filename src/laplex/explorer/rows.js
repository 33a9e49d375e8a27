// A table whose rows are clicked, or chosen with the keyboard. Every text is set by textContent, since words are data.
const make = (tag, className, text) => {
  const element = document.createElement(tag);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

// an estimate as a bar from zero, with the line of its interval
const bar = ([lower, estimate, upper], most) => {
  const drawn = make("span", "bar");
  const percent = (value) => `${(100 * Math.min(Math.max(value / most, 0), 1)).toFixed(2)}%`;
  drawn.style.setProperty("--estimate", percent(estimate));
  drawn.style.setProperty("--lower", percent(lower));
  drawn.style.setProperty("--upper", percent(upper));
  drawn.append(make("span", "fill"), make("span", "line"));
  return drawn;
};

const cellOf = (column, row) => {
  const cell = make("td", column.kind);
  if (column.kind === "interval") {
    cell.append(make("span", "number", column.texts[row]), bar(column.ends[row], column.most));
  } else {
    cell.append(make("span", "text", column.texts[row]));
    if (column.kind === "words") cell.title = column.texts[row];
  }
  return cell;
};

const draw = (state) => {
  const { root, data } = state;
  const table = make("table", "");
  const caption = make("caption", "unseen", data.label);
  const head = make("tr", "");
  data.columns.forEach((column, place) => {
    const cell = make("th", column.kind);
    cell.scope = "col";
    const button = make("button", "sort", column.label);
    button.title = column.help || "";
    button.onclick = () => sort(state, place);
    cell.append(button);
    head.append(cell);
  });
  state.heads = [...head.children];
  state.rows = data.words.map((word, row) => {
    const line = make("tr", data.faint[row] ? "row faint" : "row");
    const cell = make("th", "word");
    cell.scope = "row";
    const button = make("button", "choose", word);
    button.tabIndex = -1;
    cell.append(button);
    line.append(cell, ...data.columns.slice(1).map((column) => cellOf(column, row)));
    line.onclick = () => {
      if (!getSelection().toString()) state.pick(row);
    };
    return line;
  });
  state.body = make("tbody", "");
  state.body.append(...state.rows);
  state.body.onkeydown = (event) => move(state, event);
  const header = make("thead", "");
  header.append(head);
  table.append(caption, header, state.body);
  root.style.setProperty("--height", `${data.height}px`);
  root.replaceChildren(table);
  state.order = [...state.rows.keys()];
  state.sorted = null;
};

const sort = (state, place) => {
  const values = state.data.columns[place].values;
  const isText = typeof values[0] === "string";
  const first = isText || state.data.columns[place].ascending ? 1 : -1;
  const direction = state.sorted?.place === place ? -state.sorted.direction : first;
  state.sorted = { place, direction };
  const compare = isText ? (a, b) => values[a].localeCompare(values[b]) : (a, b) => (values[a] ?? 0) - (values[b] ?? 0);
  state.order.sort((a, b) => direction * compare(a, b) || a - b);
  state.body.append(...state.order.map((row) => state.rows[row]));
  state.heads.forEach((cell, other) => {
    if (other === place) cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
  state.root.scrollTop = 0;
};

const button = (state, row) => state.rows[row].querySelector("button");

const move = (state, event) => {
  const row = state.rows.indexOf(event.target.closest("tr"));
  const at = state.order.indexOf(row);
  const last = state.order.length - 1;
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: last };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const next = state.order[Math.min(Math.max(steps[event.key], 0), last)];
  focusable(state, next);
  button(state, next).focus();
};

// one row can be reached with the tab key; arrows lead to the others
const focusable = (state, row) => {
  if (state.focusable !== undefined && state.rows[state.focusable]) button(state, state.focusable).tabIndex = -1;
  state.focusable = row;
  if (state.rows[row]) button(state, row).tabIndex = 0;
};

const choose = (state, row) => {
  state.rows.forEach((line, number) => {
    line.classList.toggle("chosen", number === row);
    button(state, number).setAttribute("aria-pressed", number === row);
  });
  focusable(state, row ?? state.order[0]);
  const line = row === null ? undefined : state.rows[row];
  if (!line) return;
  // only the table is scrolled, not the page
  const top = line.offsetTop - state.heads[0].offsetHeight;
  const bottom = line.offsetTop + line.offsetHeight;
  if (top < state.root.scrollTop) state.root.scrollTop = top;
  else if (bottom > state.root.scrollTop + state.root.clientHeight) state.root.scrollTop = bottom - state.root.clientHeight;
};

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".rows");
  const state = (root.state ??= { root });
  state.pick = (row) => {
    choose(state, row);
    setTriggerValue("picked", data.words[row]);
  };
  const { chosen, ...drawn } = data;
  const content = JSON.stringify(drawn);
  if (content !== state.content) {
    Object.assign(state, { content, data: drawn });
    draw(state);
  }
  choose(state, chosen);
}
