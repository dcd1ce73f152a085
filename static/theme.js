// Runs before the first paint. A chosen theme stands in the cookie, and the server has set it already; without a
// choice the system's preference counts, also when it changes. The cookie `tz` tells the server the viewer's zone.
(() => {
  "use strict";
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const keep = (name, value) => {
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=31536000; samesite=lax${secure}`;
  };
  const follow = () => {
    if (!root.dataset.chosenTheme) root.dataset.bsTheme = dark.matches ? "dark" : "light";
  };
  follow();
  dark.addEventListener("change", follow);

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && root.dataset.zone !== zone) keep("tz", zone);

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-toggle-theme]")) return;
    const theme = root.dataset.bsTheme === "dark" ? "light" : "dark";
    root.dataset.bsTheme = theme;
    root.dataset.chosenTheme = theme;
    keep("theme", theme);
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-toggle-theme]")) button.hidden = false;
  });
})();
