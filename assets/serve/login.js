// A link carries its token behind #: that part is neither sent nor logged. A click uses it up, so that programs which
// look at links in messages do not.
"use strict";

const state = document.getElementById("state");
const enter = document.getElementById("enter");

async function logIn(token) {
  enter.disabled = true;
  const answer = await fetch("login", { method: "POST", body: new URLSearchParams({ token }) }).catch(() => null);
  if (answer && answer.ok) {
    location.replace("app");
    return;
  }
  enter.disabled = false;
  state.textContent = answer ? sentence(await answer.text()) : "The server does not answer. Try again.";
  enter.hidden = !answer || answer.status === 401;
}

function sentence(text) {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + ".";
}

async function begin() {
  const token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (token) {
    state.textContent = "Your link works once, in this browser. You stay logged in for 30 days.";
    enter.hidden = false;
    enter.focus();
    enter.addEventListener("click", () => logIn(token));
    return;
  }
  const answer = await fetch("me").catch(() => null);
  if (answer && answer.ok) location.replace("app");
  else if (answer) state.textContent = "Open the link that you were given. It logs you in.";
  else state.textContent = "The server does not answer. Reload this page in a moment.";
}

begin();
