// Buttons that copy: `data-copy` a text, `data-copy-from` what an element says, `data-copy-url` what an address of ours
// answers, `data-copy-link` that address itself (without a value, this page's). They and what is `data-needs-copy`
// stay hidden where the browser lets no page copy.
(() => {
  "use strict";
  if (!navigator.clipboard) return;
  const BUTTONS = "[data-copy], [data-copy-from], [data-copy-link], [data-copy-url]";

  const show = () => {
    for (const each of document.querySelectorAll(`${BUTTONS}, [data-needs-copy]`)) each.hidden = false;
  };

  const wanted = async ({ copy, copyFrom, copyLink, copyUrl }) => {
    if (copyFrom) return document.getElementById(copyFrom).textContent;
    if (copyLink !== undefined) return copyLink ? new URL(copyLink, location.href).href : location.href;
    if (copyUrl === undefined) return copy;
    const answer = await fetch(copyUrl);
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.text();
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(BUTTONS);
    if (!button) return;
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(await wanted(button.dataset));
    } catch {
      said = "Not copied";
    }
    const words = button.querySelector("[data-words]");
    if (!words || words.dataset.before) return;
    words.dataset.before = words.textContent;
    words.textContent = said;
    setTimeout(() => {
      words.textContent = words.dataset.before;
      delete words.dataset.before;
    }, 2_000);
  });

  show();
  // What a poll has morphed in is hidden again.
  document.addEventListener("htmx:finally:request", () => setTimeout(show));
})();
