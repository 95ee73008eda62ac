// The pages' JavaScript; every page works without it.
"use strict";
(() => {
  const links = { o: "/", g: "/groups", s: "/search", r: "/replays", h: "/history",
    "?": "/help" };

  // Buttons that copy the text beside them.
  const addCopyButtons = () => {
    if (!navigator.clipboard) return;
    for (const text of document.querySelectorAll("[data-copy]")) {
      if (text.nextElementSibling?.matches("button.copy")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy " + text.dataset.copy);
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text.textContent);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Not copied";
        }
      });
      text.after(button);
    }
  };

  // Times as their distance from now, with the exact ones on hover, or instead of it.
  const exact = "exact times";
  const kept = (() => {
    try { return window.localStorage; } catch { return null; }
  })();
  const isExact = () => typeof kept?.getItem(exact) === "string";
  const distance = (instant) => {
    const seconds = Math.round((Date.now() - instant) / 1000);
    const size = Math.abs(seconds);
    if (size < 10) return "just now";
    const [unit, name] = size < 120 ? [1, "s"] : size < 7200 ? [60, "min"]
      : size < 172800 ? [3600, "h"] : [86400, "days"];
    const text = `${Math.floor(size / unit)} ${name}`;
    return seconds < 0 ? `in ${text}` : `${text} ago`;
  };
  const showTimes = () => {
    for (const time of document.querySelectorAll("time.time")) {
      if (!time.title) time.title = time.textContent;
      const relative = distance(new Date(time.dateTime));
      const text = time.closest("dl") ? `${time.title}, ${relative}`
        : isExact() ? time.title : relative;
      if (time.textContent !== text) time.textContent = text;
    }
  };

  // The live parts of a page are requested again; a part in which somebody works stays.
  const parts = () => [...document.querySelectorAll("[data-refresh]")];
  const shown = new Map(parts().map((part) => [part.id, part.innerHTML]));
  const update = (part, page) => {
    const fresh = page.getElementById(part.id);
    if (!fresh) return;
    part.dataset.refresh = fresh.dataset.refresh;
    if (shown.get(part.id) === fresh.innerHTML || part.contains(document.activeElement)
      || part.querySelector("details[open]")) return;
    shown.set(part.id, fresh.innerHTML);
    part.replaceChildren(...document.importNode(fresh, true).childNodes);
  };
  const refresh = async () => {
    if (document.hidden || parts().length === 0) return;
    try {
      const headers = { accept: "text/html", "x-refresh": "1" };
      const answer = await fetch(location.href, { headers });
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of parts()) update(part, page);
      document.title = page.title;
      addCopyButtons();
      showTimes();
    } catch {
      // The server is away: the page stays as it is.
    }
  };
  const refreshLater = () => {
    const seconds = Math.min(10, ...parts().map((part) => Number(part.dataset.refresh)));
    setTimeout(async () => {
      await refresh();
      showTimes();
      refreshLater();
    }, seconds * 1000);
  };

  let waiting = false;
  const isTyping = (target) => target.matches("input, select, textarea, [contenteditable]");
  const move = (step) => {
    const rows = [...document.querySelectorAll("tbody tr a[data-row]")];
    const at = rows.indexOf(document.activeElement);
    rows[Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (waiting) {
      waiting = false;
      if (links[event.key]) location.assign(links[event.key]);
    } else if (event.key === "g") {
      waiting = true;
      setTimeout(() => { waiting = false; }, 1500);
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    } else if (event.key === "t") {
      if (isExact()) kept.removeItem(exact); else kept?.setItem(exact, "");
      showTimes();
    } else if (event.key === "?") {
      location.assign("/help#keys");
    } else if (event.key === "/") {
      const field = document.querySelector("[data-search]");
      if (field) field.focus(); else location.assign("/search");
      event.preventDefault();
    }
  });

  addCopyButtons();
  showTimes();
  refreshLater();
  document.addEventListener("visibilitychange", refresh);
})();
