// Ticked rows: how many they are, all of a page at once, and which of them a poll has taken away. The boxes themselves
// are plain ones in a plain form; a poll morphs the rows by id and leaves them ticked. Colours are the style sheet's.
(() => {
  "use strict";
  const region = document.querySelector("[data-live]");
  if (!region) return;
  let ticked = new Set();

  const form = () => region.querySelector("[data-ticks]");
  const boxes = () => [...region.querySelectorAll('[data-ticks] input[name="ids"]')];
  const find = (id) => document.getElementById(id);
  const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  // A list of letters has a box for all that match; a list of causes has none.
  const isAll = () => Boolean(find("all-match")?.checked);
  // A cause stands for many letters: how many those of the ticked ones are.
  const within = (all, label) => {
    if (!label.dataset.manyOf) return "";
    const count = all.filter((box) => box.checked).reduce((sum, box) => sum + Number(box.dataset.n), 0);
    return `, ${counted(count, label.dataset.manyOf)}`;
  };

  const say = () => {
    const all = boxes();
    ticked = new Set(all.filter((box) => box.checked).map((box) => box.value));
    const label = find("ticked");
    if (!label) return;
    const everything = isAll();
    label.textContent = everything ? "Chosen:" : ticked.size ? `${counted(ticked.size, label.dataset.one)} ticked${within(all, label)}` : label.dataset.none;
    label.classList.toggle("b", ticked.size > 0 && !everything);
    const page = region.querySelector("[data-tick-page]");
    page.hidden = false;
    page.checked = all.length > 0 && ticked.size === all.length;
    page.indeterminate = ticked.size > 0 && ticked.size < all.length;
    region.querySelector("[data-untick]").hidden = !ticked.size && !everything;
  };

  const tell = (text) => {
    const gone = find("gone");
    if (gone && gone.textContent !== text) gone.textContent = text;
  };

  region.addEventListener("change", (event) => {
    if (event.target.matches("[data-tick-page]")) for (const box of boxes()) box.checked = event.target.checked;
    if (!event.target.closest("[data-ticks]")) return;
    tell("");
    say();
  });

  region.addEventListener("click", (event) => {
    if (!event.target.closest("[data-untick]")) return;
    const every = find("all-match");
    for (const box of [...boxes(), ...(every ? [every] : [])]) box.checked = false;
    tell("");
    say();
    (every && !every.disabled ? every : boxes()[0])?.focus();
  });

  // Nothing ticked, nothing to do: the server would say so too.
  region.addEventListener("submit", (event) => {
    if (event.target !== form() || ticked.size || isAll()) return;
    event.preventDefault();
    const every = find("all-match");
    tell(`Nothing is ticked. Tick what is meant${every && !every.disabled ? ", or take all that match" : ""}.`);
  });

  region.addEventListener("htmx:finally:request", (event) => {
    if (event.target !== region) return;
    const there = new Set(boxes().map((box) => box.value));
    const lost = [...ticked].filter((id) => !there.has(id)).length;
    if (lost) {
      const label = find("ticked");
      const noun = label ? label.dataset.one : region.querySelector("[data-one]")?.dataset.one || "row";
      tell(`${counted(lost, `ticked ${noun}`)} left this list meanwhile, and ${lost === 1 ? "is" : "are"} not ticked any more.`);
    }
    say();
  });

  window.addEventListener("pageshow", say);
  say();
})();
