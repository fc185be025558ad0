// Pictures that answer to the pointer: finds <figure class="plot" data-kind data-source data-label>, fetches the
// summary and draws it into the figure's .canvas. What the server had put there stays if anything goes wrong.

import { drawings } from "./drawings.js";

const STATE = new WeakMap(); // of each figure: its summary, what was chosen, and the last request
const COLOURS = ["ink", "muted", "rule", "paper", "blue", "sky", "green", "vermillion"];
const TOUCH = window.matchMedia("(pointer: coarse)");
const CONFIG = { displayModeBar: false, displaylogo: false, showTips: false, responsive: false };

let library = null;

// Plotly is large, so it comes with the first picture. It would write its style sheets into the page, which the content
// security policy forbids; elements with the names it looks for keep it from trying.
function plotly() {
  library ??= new Promise((resolve, reject) => {
    const sheet = element("link", { rel: "stylesheet", href: beside("plotly.css"), id: "plotly.js-style-global" });
    sheet.className = "no-inline-styles";
    const maps = element("meta", { id: "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53" });
    const script = element("script", { src: beside("vendor/plotly-cartesian.min.js") });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      library = null; // the next picture may try again
      [sheet, maps, script].forEach((each) => each.remove());
      reject(new Error("plotly could not be loaded"));
    });
    document.head.append(sheet, maps, script);
  });
  return library;
}

function beside(path) {
  return new URL(path, import.meta.url).href;
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function themeOf(figure) {
  const style = getComputedStyle(figure);
  const theme = Object.fromEntries(
    COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || "#777777"]),
  );
  return { ...theme, font: style.fontFamily, isTouch: TOUCH.matches };
}

const resized = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const state = STATE.get(target);
    // Not while hidden, and not for the height, which drawing itself changes.
    if (!contentRect.width || Math.abs(contentRect.width - state.width) < 1) continue;
    state.width = contentRect.width;
    requestAnimationFrame(() => (state.summary ? redraw(target) : refresh(target)));
  }
});

function attach(figure) {
  if (STATE.has(figure) || !drawings[figure.dataset.kind]) return;
  STATE.set(figure, { summary: null, choice: {}, request: 0, width: 0 });
  resized.observe(figure);
}

async function refresh(figure) {
  const state = STATE.get(figure);
  const request = ++state.request;
  try {
    const [response] = await Promise.all([
      fetch(figure.dataset.source, { credentials: "same-origin", headers: { Accept: "application/json" } }),
      plotly(),
    ]);
    if (response.status !== 200) throw new Error(`${figure.dataset.source} answered ${response.status}`);
    const summary = await response.json();
    if (request !== state.request || !figure.isConnected) return; // a later request, or another page, was quicker
    state.summary = summary;
    redraw(figure);
  } catch (error) {
    if (request === state.request) failed(figure, error);
  }
}

function redraw(figure) {
  const state = STATE.get(figure);
  if (!figure.isConnected || !figure.clientWidth) return;
  try {
    const drawing = drawings[figure.dataset.kind];
    const controls = drawing.controls?.(state.summary, state.choice);
    if (controls) arrange(figure, controls);
    const drawn = drawing.panels(state.summary, themeOf(figure), state.choice);
    const panels = holders(figure, drawn.length);
    // Only now is it known how wide a panel is.
    const width = panels[0]?.clientWidth || figure.clientWidth;
    drawn.forEach((draw, place) => {
      const { traces, layout } = draw(width);
      window.Plotly.react(panels[place], traces, { ...layout, width }, CONFIG);
    });
    label(figure, drawn.length ? (drawing.keys?.(state.summary) ?? []) : [], drawing.nothing);
    figure.dataset.state = "drawn";
  } catch (error) {
    failed(figure, error);
  }
}

// One element a panel, in place of what the server drew; those of the last drawing are used again, so zoom is kept.
function holders(figure, count) {
  const canvas = figure.querySelector(".canvas");
  const present = [...canvas.querySelectorAll(":scope > .panels > .panel")];
  if (present.length === count && count) return present;
  present.forEach((panel) => window.Plotly.purge(panel));
  const panels = Array.from({ length: count }, () => element("div", { class: "panel" }));
  canvas.replaceChildren(element("div", { class: "panels" }, ...panels));
  return panels;
}

function label(figure, keys, nothing) {
  const canvas = figure.querySelector(".canvas");
  canvas.setAttribute("role", "img"); // its parts say nothing to a screen reader; controls are outside of it
  canvas.setAttribute("aria-label", figure.dataset.label ?? figure.dataset.kind);
  canvas.querySelector(":scope > .keys")?.remove();
  if (keys.length) {
    canvas.append(
      element("ul", { class: "keys" }, ...keys.map(([mark, name]) => element("li", { class: mark }, name))),
    );
  }
  if (!canvas.querySelector(".panel")) {
    canvas.removeAttribute("role"); // a sentence is text
    canvas.replaceChildren(element("p", { class: "nothing" }, nothing));
  }
}

// Selects and radio buttons above the canvas, made once; the choice outlives a refresh.
function arrange(figure, controls) {
  const signature = JSON.stringify(controls.map(({ name, options }) => [name, options]));
  const present = figure.querySelector(":scope > .controls");
  if (present?.dataset.signature === signature) return;
  present?.remove();
  const state = STATE.get(figure);
  const choose = (name, value) => {
    state.choice[name] = value;
    redraw(figure);
  };
  const made = controls
    .filter(({ options }) => options.length > 1)
    .map((control) => (control.isSelect ? select : radios)(control, choose));
  const bar = element("div", { class: "controls" }, ...made);
  bar.dataset.signature = signature;
  figure.querySelector(".canvas").before(bar);
}

function select({ name, label: title, options, chosen }, choose) {
  const made = element("select", { name });
  options.forEach(([value, text]) => made.append(new Option(text, value, false, value === chosen)));
  made.addEventListener("change", () => choose(name, made.value));
  return element("label", {}, title, made);
}

let groups = 0;

function radios({ name, label: title, options, chosen }, choose) {
  const group = `${name}-${++groups}`; // a page may have several figures
  const made = options.map(([value, text]) => {
    const radio = element("input", { type: "radio", name: group, value });
    radio.checked = value === chosen;
    radio.addEventListener("change", () => choose(name, value));
    return element("label", {}, radio, text);
  });
  return element("fieldset", {}, element("legend", {}, title), ...made);
}

function failed(figure, error) {
  console.warn(`Headstart: ${error.message}`);
  const canvas = figure.querySelector(".canvas");
  figure.dataset.state = canvas.querySelector(".panel") ? "stale" : "failed";
  const hidden = canvas.querySelector(":scope > noscript");
  if (hidden) canvas.innerHTML = hidden.textContent; // the server's own drawing, for those without scripts
  if (!canvas.childElementCount) canvas.append(element("p", { class: "nothing" }, "This picture could not be loaded."));
}

function within(root) {
  const found = root.querySelectorAll ? [...root.querySelectorAll("figure.plot")] : [];
  return root.matches?.("figure.plot") ? [root, ...found] : found;
}

function start() {
  within(document).forEach(attach);
  for (const event of ["htmx:load", "htmx:afterSettle", "htmx:historyRestore"]) {
    document.addEventListener(event, ({ target }) => within(target).forEach(attach));
  }
  document.addEventListener("htmx:beforeCleanupElement", ({ target }) => {
    if (target.classList?.contains("js-plotly-plot")) window.Plotly.purge(target);
  });
  // Capturing, so that an event that does not bubble is heard too; one on the body is for all figures.
  const asked = ({ target }) => {
    const closest = target.closest?.("figure.plot");
    for (const figure of closest ? [closest] : within(target)) STATE.has(figure) ? refresh(figure) : attach(figure);
  };
  document.addEventListener("headstart:refresh", asked, { capture: true });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    within(document)
      .filter((figure) => STATE.get(figure)?.summary)
      .forEach(redraw);
  });
}

start();
