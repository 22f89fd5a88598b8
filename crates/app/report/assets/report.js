"use strict";
// Sorting: a click on a column's title sorts by `data-value`, or by the text when a cell has none.
const collator = new Intl.Collator(undefined, { numeric: true });

function key(row, column, kind) {
  const cell = row.cells[column];
  if (kind === "text") return cell.textContent.trim();
  const value = Number.parseFloat(cell.dataset.value);
  return Number.isNaN(value) ? -Infinity : value;
}

function sort(table, title, column) {
  const kind = title.dataset.sort;
  const first = kind === "number" ? "descending" : "ascending";
  const other = first === "descending" ? "ascending" : "descending";
  const order = title.getAttribute("aria-sort") === first ? other : first;
  for (const each of title.parentElement.cells) each.removeAttribute("aria-sort");
  title.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, key: key(row, column, kind) }));
  rows.sort((a, b) => {
    if (kind === "text") return sign * collator.compare(a.key, b.key);
    return a.key === b.key ? 0 : sign * (a.key < b.key ? -1 : 1);
  });
  body.append(...rows.map((each) => each.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length < 2) continue;
  Array.from(table.tHead.rows[0].cells).forEach((title, column) => {
    if (!title.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title.textContent;
    title.replaceChildren(button);
    button.addEventListener("click", () => sort(table, title, column));
  });
}

// The heat map: the cell under the pointer, the finger or the arrow keys is described below the map.
function readOut(box) {
  const cells = Array.from(box.querySelectorAll("svg > rect:not(.flag)"));
  const readout = box.closest("section").querySelector(".readout");
  if (cells.length === 0 || !readout) return;
  readout.hidden = false;
  readout.textContent = "Point at a cell, or move with the arrow keys.";
  let current = null;
  const show = (cell) => {
    if (!cell) return;
    if (current) current.classList.remove("current");
    current = cell;
    cell.classList.add("current");
    readout.textContent = cell.querySelector("title").textContent;
  };
  const at = (cell, name) => Number.parseFloat(cell.getAttribute(name));
  const next = (name, across, sign) => {
    const line = cells.filter((cell) => at(cell, across) === at(current, across));
    const ahead = line.filter((cell) => sign * (at(cell, name) - at(current, name)) > 0);
    ahead.sort((a, b) => sign * (at(a, name) - at(b, name)));
    return ahead[0];
  };
  const moves = { ArrowRight: ["x", "y", 1], ArrowLeft: ["x", "y", -1], ArrowDown: ["y", "x", 1], ArrowUp: ["y", "x", -1] };
  box.addEventListener("pointerover", (event) => show(event.target.closest("svg > rect:not(.flag)")));
  box.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    show(current ? next(...move) : cells[0]);
    current.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

document.querySelectorAll(".heat-scroll").forEach(readOut);

// A link to a folded tree unfolds it.
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
window.addEventListener("hashchange", unfold);
unfold();

// On paper nothing is folded but the tables that repeat a chart.
const folded = [];
window.addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open]):not(.alternative)")) {
    each.open = true;
    folded.push(each);
  }
});
window.addEventListener("afterprint", () => {
  for (const each of folded.splice(0)) each.open = false;
});
