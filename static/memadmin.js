/* The little that htmx and HTML do not do: toasts, failures that can be seen, copying, closing menus. No page needs it to be read. */
(function () {
  "use strict";
  const TOAST_SECONDS = 8;
  const OPEN_BOXES = "details.menu[open], details.pin-box[open]";
  const root = document.documentElement;
  root.classList.add("js");

  let opening = false; // a panel was asked for
  const lost = new Map(); // parts that are being replaced and have the focus, by their id: the address of the link that has it

  const find = (selector, from) => (from || document).querySelector(selector);
  const region = () => find("#toasts");

  function fade(note) {
    let timer = 0;
    const start = () => { timer = window.setTimeout(() => note.remove(), TOAST_SECONDS * 1000); };
    const stop = () => window.clearTimeout(timer);
    note.addEventListener("mouseenter", stop);
    note.addEventListener("focusin", stop);
    note.addEventListener("mouseleave", start);
    note.addEventListener("focusout", start);
    start();
  }

  function show(text, options) {
    const note = find("#toast-template").content.firstElementChild.cloneNode(true);
    find("[data-text]", note).textContent = text;
    if (options.undo) offerUndo(find("[data-undo]", note), options, note);
    if (options.retry) offerRetry(find("[data-retry]", note), options.retry, note);
    if (options.problem) { note.classList.add("toast-problem"); note.setAttribute("role", "alert"); }
    region().append(note);
    if (!options.problem) fade(note);
    return note;
  }

  function offerUndo(form, options, note) {
    form.hidden = false;
    form.action = options.undo;
    if (options.replaces) { // the answer replaces one element; without a target the form loads a page, as it would without htmx
      form.setAttribute("hx-post", options.undo);
      form.setAttribute("hx-target", options.replaces);
      form.setAttribute("hx-swap", "outerHTML");
      htmx.process(form);
      form.addEventListener("htmx:afterRequest", (event) => {
        if (!event.detail.successful) return;
        note.remove();
        focusIn(find(options.replaces));
      });
    }
  }

  function offerRetry(button, retry, note) {
    button.hidden = false;
    button.addEventListener("click", () => { note.remove(); retry(); });
  }

  document.addEventListener("memadmin:toast", (event) => show(event.detail.text, event.detail));

  // ---- a request that failed must not look like an answer
  const said = new WeakMap(); // by the part that could not be had: the toast that says so, until the part has come

  function answered(target) {
    if (!said.has(target)) return;
    said.get(target).remove();
    said.delete(target);
  }

  function failed(event, reason) {
    const detail = event.detail;
    const target = detail.target;
    opening = false;
    if (polls(detail.elt)) { // it asks again by itself: said once, until it has an answer
      if (detail.elt.dataset.failing) return;
      detail.elt.dataset.failing = "yes";
    }
    if (target) target.setAttribute("data-failed", "");
    const config = detail.requestConfig || {};
    const again = () => htmx.ajax("GET", config.path, { source: detail.elt, target: target, values: config.unfilteredParameters });
    const note = show(reason, { problem: true, retry: config.verb === "get" && document.contains(detail.elt) ? again : null });
    if (!target) return;
    answered(target); // the newest says it
    said.set(target, note);
  }

  document.addEventListener("htmx:responseError", (event) => {
    const problem = event.detail.xhr.getResponseHeader("X-Problem");
    failed(event, problem || "This could not be loaded (answer " + event.detail.xhr.status + "). What you see may be out of date.");
  });
  document.addEventListener("htmx:sendError", (event) => failed(event, "This could not be loaded: no answer from the server. What you see may be out of date."));
  document.addEventListener("htmx:timeout", (event) => failed(event, "This could not be loaded in time. What you see may be out of date."));
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.detail.shouldSwap || !event.detail.target) return;
    event.detail.target.removeAttribute("data-failed");
    answered(event.detail.target);
  });

  // ---- while a request is on its way
  const polls = (element) => (element.getAttribute("hx-trigger") || "").startsWith("every");

  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target } = event.detail;
    if (target.matches(".side-panel")) opening = true;
    if (!polls(elt)) target.setAttribute("aria-busy", "true");
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    event.detail.target.removeAttribute("aria-busy");
    if (event.detail.successful) {
      delete event.detail.elt.dataset.failing;
      answered(event.detail.target); // also where nothing is put in its place: what the page shows is so
    }
    event.detail.elt.querySelectorAll("button[aria-busy]").forEach(rest);
  });

  // A page that follows something is not loaded anew under somebody who writes in it.
  const isWrittenIn = () => Array.from(document.querySelectorAll("main textarea, main input:not([type=hidden])")).some((field) => field.value !== field.defaultValue);
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { elt, xhr } = event.detail;
    if (!polls(elt) || !xhr.getResponseHeader("HX-Redirect") || !isWrittenIn()) return;
    event.preventDefault();
    if (!elt.dataset.told) show("There is something new. Load the page again when you have finished writing.", {});
    elt.dataset.told = "yes";
  });

  // A form is sent once; its button says that it has been. Back brings the page as it was, so the mark is taken off.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("[data-download]")) return; // the page stays, and may be asked again
    if (form.dataset.sent) { event.preventDefault(); return; }
    if (event.submitter) window.setTimeout(() => event.submitter.setAttribute("aria-busy", "true"));
    if (!event.defaultPrevented) form.dataset.sent = "yes"; // htmx prevents the default and keeps its own order
    if (form.matches("[data-download-once]")) window.setTimeout(() => began(form), 2000); // a refusal is another page by then
  });
  // A second press would break off nothing, but lead to a page which says that there is nothing here.
  function began(form) {
    const button = find("button", form);
    rest(button);
    button.disabled = true;
    find("[data-began]", form).hidden = false;
  }
  window.addEventListener("pageshow", () => {
    document.querySelectorAll("form[data-sent]").forEach((form) => { delete form.dataset.sent; });
    document.querySelectorAll("button[aria-busy]").forEach(rest);
  });
  function rest(button) { button.removeAttribute("aria-busy"); }

  // ---- what a screen reader hears, and where the keyboard goes, after a part has arrived
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target } = event.detail;
    const focused = document.activeElement;
    if (target.id && focused !== document.body && target.contains(focused)) lost.set(target.id, focused.getAttribute("href"));
  });

  document.addEventListener("htmx:load", (event) => {
    const part = event.detail.elt;
    if (part === document.body) return;
    const spoken = part.matches("[data-announce]") ? part : find("[data-announce]", part);
    if (spoken) announce(spoken.dataset.announce, polls(part));
    const place = [part.id, part.parentElement.id].find((id) => lost.has(id));
    if (part.matches("[data-focus]") && (opening || place !== undefined)) {
      part.focus({ preventScroll: true });
      if (opening) part.parentElement.scrollTop = 0;
    } else if (place !== undefined) focusIn(part, lost.get(place));
    lost.delete(place);
    if (part.closest(".side-panel")) opening = false;
    markOpener();
  });

  // What follows something comes again and again: it is said when it says something new.
  function announce(words, again) {
    const live = find("#live");
    if (!again || live.textContent !== words) live.textContent = words;
  }

  // The part that had the focus was replaced: go on where it was, else with what can be done there.
  function focusIn(part, href) {
    const same = part && href && Array.from(part.querySelectorAll("a[href]")).find((link) => link.getAttribute("href") === href);
    const next = same || part && (find(".actions summary, .actions button", part) || find("a[href], button, summary", part));
    if (next && !part.contains(document.activeElement)) next.focus({ preventScroll: true });
  }

  function opener() {
    const shown = find(".side-panel [data-row]");
    return shown && find("#" + shown.dataset.row + ' [hx-target="#panel"]');
  }

  // The row whose memory stands in the panel is marked, also after it has been replaced.
  function markOpener() {
    document.querySelectorAll("[aria-controls=panel]").forEach((link) => {
      link.removeAttribute("aria-expanded");
      link.removeAttribute("aria-controls");
    });
    const link = opener();
    if (!link) return;
    link.setAttribute("aria-controls", "panel");
    link.setAttribute("aria-expanded", "true");
  }

  // ---- clicks
  function copy(button) {
    const done = () => { find("#live").textContent = "Copied"; button.classList.add("copied"); };
    if (navigator.clipboard) return navigator.clipboard.writeText(button.dataset.copy).then(done);
    const field = document.createElement("textarea"); // plain http has no clipboard
    field.value = button.dataset.copy;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
    return done();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-close], [data-close-panel]");
    if (button && button.matches("[data-copy]")) copy(button);
    if (button && button.matches("[data-close]")) button.closest("[data-toast]").remove();
    if (button && button.matches("[data-close-panel]")) closePanel(event, button);
    document.querySelectorAll(OPEN_BOXES).forEach((box) => { if (!box.contains(event.target)) box.open = false; });
  });

  // A link with data-close-panel="#panel" leads to the page without the panel; here it only empties it.
  function closePanel(event, link) {
    event.preventDefault();
    const panel = find(link.dataset.closePanel);
    const back = opener(); // not the marked link: its row may just be on its way
    panel.replaceChildren();
    if (link.href) window.history.replaceState(window.history.state, "", link.href);
    markOpener();
    (back || find("#content")).focus();
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape") escape();
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const search = find("input[type=search]");
      if (search) { event.preventDefault(); search.focus(); }
    }
  });

  function escape() {
    const box = find(OPEN_BOXES);
    if (box) { box.open = false; find("summary", box).focus(); return; }
    const close = find(".side-panel [data-close-panel]");
    if (close) close.click();
  }

  // A pin form that opens has the focus, and is in sight also under the last row.
  document.addEventListener("toggle", (event) => {
    const box = event.target;
    if (!box.open || !box.matches("details.pin-box")) return;
    const form = find("form", box);
    find("[name=reason]", form).focus({ preventScroll: true });
    form.scrollIntoView({ block: "nearest" });
  }, true);

  // A number in a limit takes the tick off "no limit"; the tick takes the number away and gives it back.
  document.addEventListener("input", (event) => {
    const limit = event.target.closest("[data-limit]");
    if (!limit) return;
    const none = find("[type=checkbox]", limit);
    const number = find(".limit-number", limit);
    if (event.target === number && number.value.trim()) none.checked = false;
    if (event.target !== none) return;
    if (none.checked) number.dataset.was = number.value;
    number.value = none.checked ? "" : number.dataset.was || "";
    if (!none.checked) number.focus();
  });

  // A choice that depends on another one offers what fits it; what was chosen and does not fit gives way to what is usual.
  function narrow(choice) {
    const by = document.getElementById(choice.dataset.narrowedBy);
    if (!by) return;
    const fits = (option, list) => (option.dataset[list] || "").split(" ").includes(by.value);
    const options = Array.from(choice.options).filter((option) => option.value);
    options.forEach((option) => { option.hidden = option.disabled = !fits(option, "for"); });
    choice.querySelectorAll("optgroup").forEach((group) => { group.hidden = !find("option:not([disabled])", group); });
    if (choice.value && !choice.selectedOptions[0].disabled) return;
    const usual = options.find((option) => fits(option, "usual"));
    choice.value = usual ? usual.value : "";
  }
  const narrowAll = () => document.querySelectorAll("[data-narrowed-by]").forEach(narrow);
  document.addEventListener("change", narrowAll);
  document.addEventListener("htmx:load", narrowAll);
  window.addEventListener("pageshow", narrowAll);

  // One tick for all of a page.
  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-check-all]");
    if (all) all.form.querySelectorAll(`[type=checkbox][name="${all.dataset.checkAll}"]`).forEach((box) => { box.checked = all.checked; });
  });

  // The code of a link stands behind "#", which is sent to nobody; it goes into the form and out of the address.
  const coded = find("[data-from-fragment]");
  if (coded && window.location.hash.length > 1) {
    coded.value = decodeURIComponent(window.location.hash.slice(1));
    window.history.replaceState(null, "", window.location.pathname);
  }

  document.querySelectorAll("#toasts [data-toast]:not(.toast-problem)").forEach((note) => { if (!find("form", note)) fade(note); });
})();
