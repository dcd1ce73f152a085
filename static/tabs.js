// On a narrow screen the tabs run out of it sideways: the one that a person stands on is brought into view.
(() => {
  "use strict";
  const tabs = document.querySelector(".views");
  const here = tabs && tabs.querySelector("[aria-current]");
  if (!here) return;
  const [inner, outer] = [here.getBoundingClientRect(), tabs.getBoundingClientRect()];
  // Not `scrollIntoView`, which may move the page too.
  tabs.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
})();
