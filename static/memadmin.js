/* The little that htmx and HTML do not do: toasts, failures that can be seen, copying, closing menus. No page needs it to be read. */
(function () {
  "use strict";
  const TOAST_SECONDS = 8;
  const root = document.documentElement;
  root.classList.add("js");

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
  }

  function offerUndo(form, options, note) {
    form.hidden = false;
    form.action = options.undo;
    if (options.replaces) { // the answer replaces one element; without a target the form loads a page, as it would without htmx
      form.setAttribute("hx-post", options.undo);
      form.setAttribute("hx-target", options.replaces);
      form.setAttribute("hx-swap", "outerHTML");
      htmx.process(form);
      form.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) note.remove(); });
    }
  }

  function offerRetry(button, retry, note) {
    button.hidden = false;
    button.addEventListener("click", () => { note.remove(); retry(); });
  }

  document.addEventListener("memadmin:toast", (event) => show(event.detail.text, event.detail));

  // ---- a request that failed must not look like an answer
  function failed(event, reason) {
    const detail = event.detail;
    const target = detail.target;
    if (target) target.setAttribute("data-failed", "");
    const config = detail.requestConfig || {};
    const again = () => htmx.ajax("GET", config.path, { source: detail.elt, target: target, values: config.unfilteredParameters });
    show(reason, { problem: true, retry: config.verb === "get" && document.contains(detail.elt) ? again : null });
  }

  document.addEventListener("htmx:responseError", (event) => {
    const problem = event.detail.xhr.getResponseHeader("X-Problem");
    failed(event, problem || "This could not be loaded (answer " + event.detail.xhr.status + "). What you see may be out of date.");
  });
  document.addEventListener("htmx:sendError", (event) => failed(event, "This could not be loaded: no answer from the server. What you see may be out of date."));
  document.addEventListener("htmx:timeout", (event) => failed(event, "This could not be loaded in time. What you see may be out of date."));
  document.addEventListener("htmx:beforeSwap", (event) => { if (event.detail.shouldSwap && event.detail.target) event.detail.target.removeAttribute("data-failed"); });

  // ---- what a screen reader hears, and where the keyboard goes, after a part has arrived
  document.addEventListener("htmx:load", (event) => {
    const part = event.detail.elt;
    if (part === document.body) return;
    const spoken = part.matches("[data-announce]") ? part : find("[data-announce]", part);
    if (spoken) find("#live").textContent = spoken.dataset.announce;
    const focused = part.matches("[data-focus]") ? part : find("[data-focus]", part);
    if (focused) { focused.tabIndex = -1; focused.focus(); }
  });

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
    document.querySelectorAll("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });

  // A link with data-close-panel="#panel" leads to the page without the panel; here it only empties it.
  function closePanel(event, link) {
    event.preventDefault();
    const panel = find(link.dataset.closePanel);
    const opener = document.querySelector('[hx-target="' + link.dataset.closePanel + '"][aria-expanded="true"]');
    panel.replaceChildren();
    if (link.href) window.history.replaceState(window.history.state, "", link.href);
    if (opener) { opener.setAttribute("aria-expanded", "false"); opener.focus(); }
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
    const menu = find("details.menu[open]");
    if (menu) { menu.open = false; find("summary", menu).focus(); return; }
    const close = find(".side-panel [data-close-panel]");
    if (close) close.click();
  }

  document.querySelectorAll("#toasts [data-toast]:not(.toast-problem)").forEach((note) => { if (!find("form", note)) fade(note); });
})();
