"use strict";
// Looks at the page again while something goes on, and changes only what has changed: the focus, opened parts
// and places of scrolling stay. Without it, all is there as of the last reload.
const KEPT = ["open", "tabindex"]; // attributes that are the reader's
const LONGEST = 1000000; // characters of output in a page
let tag = "";

function morph(old, now) {
  if (old.nodeName !== now.nodeName || (old.id || "") !== (now.id || "")) {
    old.replaceWith(document.importNode(now, true));
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== now.data) old.data = now.data;
    return;
  }
  if (old.hasAttribute("data-own") || old.isEqualNode(now)) return;
  for (const { name, value } of now.attributes)
    if (!KEPT.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes])
    if (!KEPT.includes(name) && !now.hasAttribute(name)) old.removeAttribute(name);
  const known = new Map([...old.children].filter(each => each.id).map(each => [each.id, each]));
  let at = old.firstChild;
  for (const each of [...now.childNodes]) {
    const same = each.id ? known.get(each.id) : null;
    if (same && same !== at) {
      old.insertBefore(same, at);
      at = same;
    }
    if (!at || (each.id && !same)) {
      old.insertBefore(document.importNode(each, true), at);
      continue;
    }
    const next = at.nextSibling;
    morph(at, each);
    at = next;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function tell(text) {
  const notice = document.getElementById("notice");
  if (notice.textContent !== text) notice.textContent = text;
}

async function look() {
  try {
    if (!document.hidden) {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch(location.pathname + location.search, { headers, cache: "no-store" });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag") || "";
        const now = new DOMParser().parseFromString(await answer.text(), "text/html");
        const focused = document.activeElement && document.activeElement.id;
        morph(document.querySelector("main"), now.querySelector("main"));
        document.title = now.title;
        document.body.dataset.every = now.body.dataset.every;
        if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
        fit();
      }
      tell(answer.ok || answer.status === 304 ? "" : `This page cannot be read now (${answer.status}).`);
    }
  } catch {
    tell("The board is closed: shortloop board opens it again.");
  }
  const every = Number(document.body.dataset.every);
  if (every) setTimeout(look, every);
}

async function follow(log) {
  const [text, open] = log.children;
  try {
    const answer = await fetch(`${log.dataset.address}?position=${encodeURIComponent(log.dataset.position)}`);
    const said = await answer.json();
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 5;
    if (said.text) text.textContent = (text.textContent + said.text).slice(-LONGEST);
    if (open.textContent !== said.open) open.textContent = said.open;
    log.dataset.position = said.position;
    if (isAtEnd) log.scrollTop = log.scrollHeight;
    if (!said.goes_on) return;
  } catch {
    tell("The output cannot be read now.");
  }
  setTimeout(() => follow(log), 1000);
}

// Parts that are wider than the page are tab stops; without scripts, all parts that may be wider are.
function fit() {
  for (const part of document.querySelectorAll(".wide, pre"))
    if (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
}

// A node of the graph leads to the jobs of its stage.
function unfold() {
  const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(part instanceof HTMLDetailsElement)) return;
  part.open = true;
  part.querySelector("summary").focus();
}

addEventListener("hashchange", unfold);
addEventListener("click", event => {
  const link = event.target instanceof Element && event.target.closest("svg a");
  if (link && link.getAttribute("href") === location.hash) unfold();
});
addEventListener("resize", fit);
addEventListener("toggle", fit, true);
unfold();
fit();
const output = document.getElementById("log");
if (output) output.scrollTop = output.scrollHeight;
if (output && "goesOn" in output.dataset) follow(output);
if (Number(document.body.dataset.every)) setTimeout(look, Number(document.body.dataset.every));
