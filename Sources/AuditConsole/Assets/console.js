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

  // A page with live data is requested again, unless somebody works in it.
  const refresh = async () => {
    const live = document.querySelector("[data-refresh]");
    if (!live || document.hidden || live.contains(document.activeElement)
      || live.querySelector("details[open]")) return;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("[data-refresh]");
      if (fresh) live.replaceWith(document.importNode(fresh, true));
      addCopyButtons();
    } catch {
      // The server is away: the page stays as it is.
    }
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
    } else if (event.key === "?") {
      location.assign("/help#keys");
    } else if (event.key === "/") {
      const field = document.querySelector("[data-search]");
      if (field) field.focus(); else location.assign("/search");
      event.preventDefault();
    }
  });

  addCopyButtons();
  setInterval(refresh, 10000);
})();
