// Keeps the terminal of textual.js connected: its socket is replaced when it is lost, and the app goes on.
"use strict";

// Codes with which the server closes a socket. `retry`: seconds until the next attempt, without a click.
const CLOSINGS = {
  1008: { text: "The server closed this connection.", again: "Connect again" },
  4000: { text: "You have left the app. Everything is saved.", again: "Open it again" },
  4001: { text: "The app is open in another window.", again: "Use it here" },
  4002: { text: "All places are taken. This page tries again every 15 seconds.", again: "Try now", retry: 15 },
  4003: { text: "The app did not start.", again: "Try again" },
  4004: { text: "The app was not used for a long time and has ended. Everything is saved.", again: "Open it again" },
  4005: { text: "The server has ended. Everything is saved. This page connects when it is back.", again: "Try now", retry: 5 },
  4006: { text: "The app has failed. Your answers and finished runs are saved.", again: "Open it again" },
};
const PING_S = 10;
const LONGEST_WAIT_S = 10;

const NativeSocket = window.WebSocket;
const notice = document.getElementById("notice");
const dialog = document.getElementById("dialog");
const message = document.getElementById("message");
const again = document.getElementById("again");
const terminal = document.getElementById("terminal");

class LastingSocket {
  constructor(url) {
    this.url = new URL(url);
    this.listeners = { open: [], message: [], close: [] };
    this.attempts = 0;
    this.connect();
    setInterval(() => this.ping(), PING_S * 1000);
    window.addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => this.retryNow());
    again.addEventListener("click", () => this.connect());
  }

  addEventListener(kind, listener) { this.listeners[kind].push(listener); }

  send(data) {
    const resized = data.startsWith('["resize"') && JSON.parse(data)[1];
    if (resized) {
      this.url.searchParams.set("width", resized.width);
      this.url.searchParams.set("height", resized.height);
    }
    if (this.socket.readyState === NativeSocket.OPEN) this.socket.send(data);
  }

  connect() {
    clearTimeout(this.timer);
    if (dialog.open) dialog.close();
    const socket = new NativeSocket(this.url);
    this.socket = socket;
    this.isAlive = true;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", (event) => this.tell("open", event));
    socket.addEventListener("message", (event) => {
      this.isAlive = true;
      this.attempts = 0;
      notice.hidden = true;
      if (typeof event.data !== "string" || !event.data.startsWith('["pong"')) this.tell("message", event);
    });
    socket.addEventListener("close", (event) => { if (socket === this.socket) this.lost(event.code); });
  }

  tell(kind, event) { for (const listener of this.listeners[kind]) listener(event); }

  ping() {
    if (this.socket.readyState !== NativeSocket.OPEN) return;
    if (!this.isAlive) {
      const asleep = this.socket;
      this.socket = { readyState: NativeSocket.CLOSED };
      asleep.close();
      this.lost(0);
      return;
    }
    this.isAlive = false;
    this.socket.send(JSON.stringify(["ping", String(Date.now())]));
  }

  lost(code) {
    const closing = CLOSINGS[code];
    if (closing) {
      notice.hidden = true;
      message.textContent = closing.text;
      again.textContent = closing.again;
      if (!dialog.open) dialog.showModal();
      again.focus();
      if (closing.retry) this.timer = setTimeout(() => this.connect(), closing.retry * 1000);
      return;
    }
    notice.textContent = "Connection lost. Connecting again…";
    notice.hidden = false;
    this.attempts += 1;
    const wait = Math.min(LONGEST_WAIT_S, 0.25 * 2 ** this.attempts) * (0.5 + Math.random());
    this.timer = setTimeout(() => this.retry(), wait * 1000);
  }

  async retry() {
    // A refused socket does not say why: a login may have ended.
    const answer = await fetch("me").catch(() => null);
    if (answer && answer.status === 401) location.replace("./");
    else if (answer && answer.ok) this.connect();
    else this.lost(0);
  }

  retryNow() {
    if (!document.hidden && !notice.hidden) { clearTimeout(this.timer); this.retry(); }
  }
}

document.getElementById("logout").addEventListener("click", async () => {
  await fetch("logout", { method: "POST" }).catch(() => null);
  location.replace("./");
});
dialog.addEventListener("cancel", (event) => event.preventDefault());

async function begin() {
  window.WebSocket = LastingSocket;
  const url = new URL("ws", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  terminal.dataset.sessionWebsocketUrl = url.href;
  // As large as 80 columns and 24 rows allow.
  const largest = Math.min(innerWidth / 80 / 0.61, innerHeight / 24 / 1.35);
  terminal.dataset.fontSize = String(Math.max(8, Math.min(16, Math.floor(largest))));
  // The terminal measures its letters when it opens.
  const fonts = ["16px 'Roboto Mono'", "bold 16px 'Roboto Mono'", "italic 16px 'Roboto Mono'"];
  await Promise.all(fonts.map((font) => document.fonts.load(font))).catch(() => null);
  const script = document.createElement("script");
  script.src = "static/textual.js";
  script.addEventListener("load", () => {
    if (document.readyState === "complete") window.onload();
    document.querySelector(".xterm-helper-textarea").focus();
  });
  document.body.append(script);
}

begin();
