// Keeps the part of a page marked `data-live` fresh. htmx makes the request and morphs the answer in; this file only
// decides when: one request at a time, none while the tab is hidden, ever longer pauses while the server fails.
(() => {
  "use strict";
  const EVERY = 5_000;
  const STALE = 15_000;
  const SLOWEST = 60_000;

  const region = document.querySelector("[data-live]");
  const line = document.querySelector("[data-live-line]");
  if (!region || !line) return;

  let timer = 0;
  let pause = EVERY;
  let inFlight = false;
  let fresh = Date.now();

  // The answer says when there is nothing more to come, as after a job's end.
  const rests = () => region.querySelector("[data-rest]") !== null;

  const plan = (wait) => {
    clearTimeout(timer);
    if (!document.hidden && !rests()) timer = setTimeout(poll, wait);
  };

  const poll = () => {
    if (inFlight || document.hidden) return;
    inFlight = true;
    region.dispatchEvent(new CustomEvent("live"));
  };

  const age = (seconds) => (seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`);

  // `as-of` is in the answer: the server's clock, in the viewer's zone.
  const say = () => {
    const late = Date.now() - fresh;
    const isStale = late > STALE && !rests();
    line.classList.toggle("stale", isStale);
    line.classList.toggle("on", !rests());
    const words = line.querySelector("[data-words]");
    const asOf = region.querySelector("[data-as-of]");
    const at = asOf ? asOf.dataset.asOf : "";
    const text = isStale ? `Not refreshed for ${age(Math.round(late / 1000))}` : `${rests() ? "As of" : "Live,"} ${at}`;
    if (words.textContent !== text) words.textContent = text;
    if (asOf) line.title = `Refreshed ${asOf.dataset.asOfFull}. Figures refresh every 5 s while this tab is in view.`;
  };

  // A message tells of what was done. Once the region has moved on from there it would contradict it, so it goes;
  // not one that offers an undo, nor one with the focus in it.
  const state = () => region.querySelector("[data-state]")?.dataset.state;
  const first = state();
  const drop = () => {
    if (state() === first) return;
    for (const message of document.querySelectorAll("[data-passing]"))
      if (!message.contains(document.activeElement)) message.remove();
  };

  // The navigation stands outside of the region: its number comes with the answer.
  const count = () => {
    const told = region.querySelector("[data-undrained]");
    if (!told) return;
    for (const place of document.querySelectorAll("[data-undrained-count]")) {
      if (place.textContent !== told.dataset.undrained) place.textContent = told.dataset.undrained;
      place.hidden = told.dataset.undrained === "0";
    }
    for (const place of document.querySelectorAll("[data-alarms-count]")) {
      place.querySelector("[data-n]").textContent = told.dataset.alarms;
      place.className = told.dataset.loud === "1" ? "cnt-d" : "cnt";
      place.hidden = told.dataset.alarms === "0";
    }
  };

  region.addEventListener("htmx:finally:request", (event) => {
    if (event.target !== region) return;
    const status = event.detail.ctx.response ? event.detail.ctx.response.status : 0;
    inFlight = false;
    if (status >= 200 && status < 400) {
      fresh = Date.now();
      pause = EVERY;
      drop();
    } else {
      pause = Math.min(SLOWEST, pause * 2);
    }
    count();
    say();
    plan(pause);
  });

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    // Back in view after a while: the figures are old. Not sooner than a running back-off allows.
    else plan(Date.now() - fresh > pause ? Math.max(0, pause - EVERY) : pause);
    say();
  });

  // What a reader has unfolded stays unfolded when the region is morphed.
  htmx.registerExtension("keep-open", {
    htmx_before_morph_attr: (element, detail) => !(element.tagName === "DETAILS" && detail.attrName === "open"),
  });

  setInterval(say, 1_000);
  say();
  plan(EVERY);
})();
