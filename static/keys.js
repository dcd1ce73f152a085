// Keys for those who triage many: j and k go from row to row, x ticks. They count only while a row has the focus, so
// that nobody sets them off by accident; Enter opens what has the focus, as ever.
(() => {
  "use strict";
  const hint = document.getElementById("keys");
  if (hint) hint.hidden = false;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const row = event.target.closest && event.target.closest(".ll tbody tr");
    if (!row || event.target.matches("select, textarea, input:not([type=checkbox])")) return;
    if (event.key === "j" || event.key === "k") {
      const next = event.key === "j" ? row.nextElementSibling : row.previousElementSibling;
      if (next) next.querySelector(".err").focus();
    } else if (event.key === "x") {
      const box = row.querySelector('input[name="ids"]');
      if (box) box.click();
    } else return;
    event.preventDefault();
  });
})();
