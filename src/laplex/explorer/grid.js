// Lists of words. Every text is set by textContent, since words are data.
const make = (tag, className, text) => {
  const element = document.createElement(tag);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".grid");
  const drawn = data.groups.map((group) => {
    const section = make("section", "group");
    if (group.title) section.append(make("h4", "group-title", group.title));
    const lists = make("div", "lists");
    group.lists.forEach((list, place) => {
      const column = make("div", list.pale ? "list pale" : "list");
      if (list.title) column.append(make("div", "title", list.title));
      if (list.note) column.append(make("div", "note", list.note));
      const model = new URLSearchParams(location.search).get("model");
      for (const item of list.items) {
        const link = make("a", `item ${item.mark}`);
        const address = new URLSearchParams({ word: item.word, ...(list.language && { language: list.language }), ...(model && { model }) });
        link.href = `/word?${address}`;
        link.style.setProperty("--share", `${Math.round(100 * item.share)}%`);
        link.append(make("span", "word", item.word), make("span", "value", item.value));
        link.onclick = (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          setTriggerValue("picked", { word: item.word, list: place });
        };
        column.append(link);
      }
      lists.append(column);
    });
    section.append(lists);
    return section;
  });
  root.replaceChildren(...drawn);
}
