// Keys for those who triage many: j and k go from row to row, x ticks, / searches, a letter beside a button of the bar
// presses it, and Enter opens what has the focus, as ever. They count while the focus is nowhere or in the page's main part, never in a field to type into. Who speaks to the
// computer or types by accident turns them off, and they stay off in this browser.
(() => {
  "use strict";
  const OFF = "keys-off";
  const hint = document.getElementById("keys");
  if (!hint) return;

  const kept = () => {
    try { return localStorage.getItem(OFF) === "1"; } catch { return false; }
  };
  let off = kept();

  const show = () => {
    hint.hidden = false;
    for (const part of hint.querySelectorAll("[data-key]")) part.hidden = off;
    hint.querySelector("[data-toggle-keys]").textContent = off ? "Turn the keys on" : "Turn off";
  };

  hint.addEventListener("click", (event) => {
    if (!event.target.closest("[data-toggle-keys]")) return;
    off = !off;
    try { localStorage.setItem(OFF, off ? "1" : "0"); } catch { /* Then it holds for this page. */ }
    show();
  });

  const rows = () => [...document.querySelectorAll(".dq tbody tr")];
  // Where somebody has scrolled to, and not far above.
  const firstInView = () => rows().find((row) => row.getBoundingClientRect().top >= 0) || rows()[0];

  const goTo = (row) => row && row.querySelector(".err").focus();

  // What the bar over the list does, to the ticked rows or, with none, to the one that has the focus.
  const press = (key, row) => {
    const button = /^[a-z]$/.test(key) && document.querySelector(`[data-key-of="${key}"]`);
    if (!button) return false;
    const form = button.closest("form");
    if (!form.querySelector('input[name="ids"]:checked')) {
      if (!row) return false;
      row.querySelector('input[name="ids"]').click();
    }
    button.click();
    const fold = button.closest("details");
    if (fold && fold.open) fold.querySelector("button, select, input").focus();
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (off || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = event.target;
    if (at !== document.body && !at.closest("main")) return;
    if (at.matches("select, textarea, input:not([type=checkbox])")) return;
    const row = at.closest(".dq tbody tr");
    if (event.key === "j") goTo(row ? row.nextElementSibling : firstInView());
    else if (event.key === "k" && row) goTo(row.previousElementSibling);
    else if (event.key === "x" && row) row.querySelector('input[name="ids"]')?.click();
    else if (event.key === "/") document.getElementById("q")?.focus();
    else if (!press(event.key, row)) return;
    event.preventDefault();
  });

  show();
})();
