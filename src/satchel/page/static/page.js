// What the page does beyond HTML: keys, the command menu, copying, dragging, live changes. Everything works without it.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const isTyping = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;
const say = (text, link) => {
  const box = document.createElement("div");
  box.textContent = text;
  if (link) {
    const button = document.createElement("button");
    button.className = "small";
    button.textContent = link.label;
    button.addEventListener("click", link.act);
    box.append(" ", button);
  }
  $("#live").replaceChildren(box);
  clearTimeout(say.timer);
  if (!link) say.timer = setTimeout(() => $("#live").replaceChildren(), 5000);
};

// -- keys -------------------------------------------------------------------------------------------------------

const KEYS = [
  ["/", "search"], ["Ctrl K or ⌘ K", "jump anywhere, do anything"], ["c", "new thing here"], ["q", "quick task"],
  ["g then h p d t b l a", "home, prompts, documents, tasks, board, libraries, activity"], ["j k", "next, previous"], ["Enter", "open"],
  ["e", "edit"], ["Ctrl Enter", "save"], ["Esc", "leave"], ["r", "fill in"], ["y", "copy the text"], ["x", "select a task"], ["d", "done"],
  ["[ ]", "card to the column before, after"], ["1 2 3 4", "priority: low to urgent"], ["z", "undo my last change"], ["?", "these keys"],
];
const areKeysOff = () => localStorage.getItem("keys") === "off";
let isGoing = false;

const choose = (step) => {
  const rows = all("[data-row]");
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("chosen"));
  const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
  rows.forEach((row) => row.classList.remove("chosen"));
  next.classList.add("chosen");
  $("a", next)?.focus();
};
const press = (element) => {
  if (element.matches("input, textarea")) element.focus();
  else if (element.matches("summary")) { element.parentElement.open = true; $("input:not([type=hidden]), textarea", element.parentElement)?.focus(); }
  else element.click();
};
const currentCard = () => document.activeElement.closest("[data-card]") ?? $("[data-card].chosen");
const wantedCards = () => { const chosen = all("[data-card].selected"); return chosen.length ? chosen : [currentCard()].filter(Boolean); };
const moveCards = (to, cards = wantedCards()) => {
  if (cards.length) send("/board/move", [...cards.map((card) => ["task", card.dataset.card]), ["to", to], ["back", location.pathname + location.search]]);
};
const shiftCards = (step) => {
  const column = wantedCards()[0]?.closest("[data-column]")?.dataset.column;
  if (!column) return;
  const columns = ["ready", "progress", "done"];
  const to = columns[Math.max(columns.indexOf(column), 0) + step];
  if (to) moveCards(to);
};
const selectCard = () => {
  const card = currentCard();
  if (!card) return;
  card.classList.toggle("selected");
  say(`${all("[data-card].selected").length} selected.`);
};
const send = (action, fields) => {
  const form = document.createElement("form");
  form.method = "post";
  form.action = action;
  for (const [name, value] of fields) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  form.submit();
};

document.addEventListener("keydown", (event) => {
  const target = event.target;
  if ((event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); openMenu(); return; }
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { const form = target.closest("form"); if (form) { event.preventDefault(); form.requestSubmit($("[data-save]", form) ?? undefined); } return; }
  if (event.key === "Escape" && isTyping(target)) { target.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target) || $("dialog[open]") || areKeysOff()) return;
  if (isGoing) {
    isGoing = false;
    const link = event.key === "h" ? $(".brand") : $(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  const act = {
    g: () => { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); },
    j: () => choose(1), k: () => choose(-1), "?": showKeys, Escape: () => $("[data-leave]")?.click(),
    "[": () => shiftCards(-1), "]": () => shiftCards(1), x: selectCard,
    z: document.body.dataset.readOnly === undefined ? () => send("/undo", [["back", location.pathname + location.search]]) : undefined,
    1: () => moveCards("low"), 2: () => moveCards("normal"), 3: () => moveCards("high"), 4: () => moveCards("urgent"),
  }[event.key];
  const isDone = event.key === "d" && wantedCards().length;
  const element = act || isDone ? null : $(`[data-key~="${CSS.escape(event.key)}"]`);
  if (isDone) moveCards("done"); else if (act) act(); else if (element) press(element); else return;
  event.preventDefault();
});

const dialog = (label) => {
  const box = document.createElement("dialog");
  box.setAttribute("aria-label", label);
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  document.body.append(box);
  return box;
};
const showKeys = () => {
  const box = dialog("Keys");
  const table = document.createElement("table");
  for (const [key, what] of KEYS) {
    const row = table.insertRow();
    row.insertCell().append(Object.assign(document.createElement("kbd"), { textContent: key }));
    row.insertCell().textContent = what;
  }
  const close = Object.assign(document.createElement("button"), { textContent: "Close" });
  close.addEventListener("click", () => box.close());
  box.append(table, close);
  box.showModal();
};
const openMenu = () => {
  if ($("dialog[open]")) return;
  const box = dialog("Jump to");
  const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "Type where to go, or what to find" });
  input.setAttribute("aria-label", "Where to go");
  const list = document.createElement("ul");
  const nameOf = (element) => (element.ariaLabel ?? element.textContent).trim().replace(/\s+/g, " ");
  const entries = all("main .head button, main .actions button, .side button, footer button, .said button").map((button) => [nameOf(button), () => { box.close(); button.click(); }]);
  const addLinks = (links, prefix = "") => links.forEach((link) => entries.push([prefix + nameOf(link), link.getAttribute("href")]));
  addLinks(all("a[href]:not(.skip)"));
  const fill = () => {
    const text = input.value.trim().toLowerCase();
    const found = entries.filter(([name]) => name && name.toLowerCase().includes(text)).slice(0, 12);
    if (text) found.push([`Search everything for “${input.value.trim()}”`, `/?q=${encodeURIComponent(input.value.trim())}`]);
    list.replaceChildren(...found.map(([name, to], at) => {
      const item = document.createElement("li");
      const choice = document.createElement(typeof to === "string" ? "a" : "button");
      choice.textContent = name;
      if (typeof to === "string") choice.href = to; else choice.addEventListener("click", to);
      item.append(choice);
      item.classList.toggle("chosen", at === 0);
      return item;
    }));
  };
  input.addEventListener("input", fill);
  input.addEventListener("keydown", (event) => {
    const items = all("li", list), at = items.findIndex((item) => item.classList.contains("chosen"));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && items.length) {
      event.preventDefault();
      items[at]?.classList.remove("chosen");
      items[(at + step + items.length) % items.length].classList.add("chosen");
    } else if (event.key === "Enter") { event.preventDefault(); $(".chosen > *", list)?.click(); }
  });
  box.append(input, list);
  fill();
  box.showModal();
  fetch("/projects").then((answer) => answer.text()).then((html) => {
    addLinks(all("#main .rows > li > a", new DOMParser().parseFromString(html, "text/html")), "Project ");
    fill();
  }, () => {});
};

// -- buttons ------------------------------------------------------------------------------------------------------

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-fill], [data-keys-help]");
  if (!button) return;
  if (button.dataset.copy) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      say("Copied.");
    } catch {
      getSelection().selectAllChildren(source);
      say("Selected. Copy it with Ctrl C.");
    }
  } else if (button.dataset.fill) {
    const field = document.getElementById(button.dataset.fill);
    field.value = button.dataset.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  } else showKeys();
});

// -- dragging -----------------------------------------------------------------------------------------------------

document.addEventListener("dragstart", (event) => event.dataTransfer?.setData("text/plain", event.target.closest?.("[data-card]")?.dataset.card ?? ""));
document.addEventListener("dragover", (event) => {
  const column = event.target.closest?.("[data-column]");
  all(".column.over").forEach((one) => one.classList.toggle("over", one === column));
  if (column && column.dataset.column !== "blocked") { event.preventDefault(); column.classList.add("over"); }
});
document.addEventListener("drop", (event) => {
  const column = event.target.closest?.("[data-column]"), task = event.dataTransfer?.getData("text/plain");
  if (!column || !task || column.dataset.column === "blocked") return;
  event.preventDefault();
  if ($(`[data-card="${CSS.escape(task)}"]`)?.closest("[data-column]") !== column) moveCards(column.dataset.column, [$(`[data-card="${CSS.escape(task)}"]`)]);
});

// -- forms --------------------------------------------------------------------------------------------------------

const hasEdits = () => all("form[data-guard]").some((form) => all("input, textarea, select", form).some((field) => field.matches("[type=checkbox], [type=radio]") ? field.checked !== field.defaultChecked : field.matches("select") ? [...field.options].some((option) => option.selected !== option.defaultSelected) : field.value !== field.defaultValue));
let isSending = false;
document.addEventListener("submit", () => { isSending = true; });
addEventListener("beforeunload", (event) => { if (!isSending && hasEdits()) event.preventDefault(); });

// -- live: one stream a browser, shared by its tabs ---------------------------------------------------------------------

const changes = new Set();  // what was announced since the last refresh
const refresh = () => {
  const item = $("form[data-item]")?.dataset.item, named = [...changes].map((one) => one.split("/")[2]).filter(Boolean);
  const isOwn = changes.has(item);
  changes.clear();
  if (hasEdits() || document.activeElement?.closest("form.edit, form.quick") || $("dialog[open]")) {
    if (isOwn) $("[data-changed]")?.dispatchEvent(new Event("changed"));
    return;
  }
  const before = $("#main").textContent;
  htmx.ajax("GET", location.href, { target: "#main", select: "#main", swap: "outerMorph" }).then(() => {
    if ($("#main").textContent !== before) say(named.length ? `Updated: ${[...new Set(named)].slice(0, 3).join(", ")}.` : "Updated.");
  });
};
const hear = (message) => {
  if (message.what === "logout") { location.reload(); return; }
  if (message.what !== "changed") return;
  for (const one of message.changes) changes.add(`${one.what}/${one.what === "task" ? "" : one.project}/${one.key ?? ""}`);
  clearTimeout(hear.timer);
  hear.timer = setTimeout(refresh, 150);
};
const channel = new BroadcastChannel("satchel");
channel.addEventListener("message", (event) => hear(event.data));
const listen = () => new Promise((end) => {
  const stream = new EventSource("/events");
  stream.addEventListener("message", (event) => { const message = JSON.parse(event.data); channel.postMessage(message); hear(message); });
  addEventListener("pagehide", () => { stream.close(); end(); }, { once: true });
});
if ($("#live")) {
  if (navigator.locks) navigator.locks.request("satchel-live", listen);
  else listen();
}
$("form[data-auto]")?.requestSubmit();

const keysOff = $("#keys-off");
if (keysOff) {
  keysOff.checked = areKeysOff();
  keysOff.addEventListener("change", () => localStorage.setItem("keys", keysOff.checked ? "off" : "on"));
}
