// The page works without this script. With it the page joins by itself, follows the lecture, and says when a vote waits
// for a connection.
"use strict";

const view = document.getElementById("view");
const line = document.getElementById("line");
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
let asking = null;

function replaceView(html, version) {
  if (version) view.dataset.version = version;
  view.innerHTML = html;
}

async function request(path, options = {}) {
  return fetch(path, {...options, headers: {"X-Part": "view"}, cache: "no-store", credentials: "same-origin"});
}

// Wait for the next view, for as long as the page is open.
async function follow() {
  for (;;) {
    asking = new AbortController();
    const timer = setTimeout(() => asking.abort(), 45000);
    const asked = view.dataset.version;
    try {
      const answer = await request("/view?after=" + encodeURIComponent(asked), {signal: asking.signal});
      const html = await answer.text();
      line.hidden = true;
      if (answer.status === 200) replaceView(html, answer.headers.get("X-Version"));
      if (answer.status === 410) { replaceView(html); return; }
      if (answer.status === 401) { location.assign("/"); return; }
      if (answer.status >= 400) await pause(2 + Math.random() * 2);
    } catch (error) {
      if (error.name === "AbortError") continue;
      line.hidden = false;
      await pause(1 + Math.random() * 2);
    } finally {
      clearTimeout(timer);
    }
  }
}

// A phone that wakes up has a connection that is dead without knowing it.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && asking) asking.abort();
});

async function send(form, fields) {
  form.setAttribute("aria-busy", "true");
  for (let wait = 1; ; wait = Math.min(5, wait * 2)) {
    try {
      const answer = await request(form.getAttribute("action"), {method: "POST", body: fields});
      if (answer.status !== 429 && answer.status !== 503) return answer;
    } catch {
      line.hidden = false;
    }
    await pause(wait * (0.5 + Math.random()));
  }
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  event.preventDefault();
  if (form.getAttribute("aria-busy")) return;
  const fields = new URLSearchParams(new FormData(form));
  const button = event.submitter;
  if (button && button.name) fields.set(button.name, button.value);
  if (button) for (const each of form.querySelectorAll("[aria-pressed]")) each.setAttribute("aria-pressed", each === button);
  const answer = await send(form, fields);
  line.hidden = true;
  if (answer.status === 204 || answer.status === 401) location.assign("/");
  else replaceView(await answer.text(), answer.headers.get("X-Version"));
  const field = answer.status === 400 && view.querySelector("input[name=answer]");
  if (field) {
    field.value = fields.get("answer");
    field.focus();
  }
});

const join = document.querySelector("form[data-join=now]");
if (join) join.requestSubmit();
if (view.dataset.version) follow();
