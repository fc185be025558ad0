// Keeps a page up to date without taking anything from under somebody's hands: parts are renewed when the server says
// that something changed, unless a form in them is being filled in.

function isBusy(part) {
  if (part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")) return true;
  if (part.querySelector("details[open]")) return true;
  const fields = part.querySelectorAll("input:not([type=hidden]), textarea");
  return [...fields].some((field) => field.value !== field.defaultValue);
}

let isWaiting = false;

function renew() {
  const part = document.getElementById("live");
  if (!part) return;
  isWaiting = isBusy(part);
  if (!isWaiting) window.htmx.trigger(part, "headstart:renew");
}

document.addEventListener("headstart:changed", renew);
document.addEventListener("focusout", () => setTimeout(() => isWaiting && renew(), 300));

// The task's list and the like act at once.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});

// Choosing a role renews the form around it; the keyboard stays where it was.
let focused = null;
document.addEventListener("htmx:beforeSwap", (event) => {
  // Somebody may have begun to type while the answer was on its way.
  if (event.detail.target.id === "live" && isBusy(event.detail.target)) {
    event.detail.shouldSwap = false;
    isWaiting = true;
  }
  if (event.detail.target.matches("[data-keeps-focus]")) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
    focused = document.activeElement && document.activeElement.id;
  }
});
document.addEventListener("htmx:afterSettle", () => {
  if (focused) document.getElementById(focused)?.focus();
  focused = null;
});

// A dropped file is read at once.
document.addEventListener("change", (event) => {
  if (event.target.matches(".drop input[type=file]") && event.target.files.length) event.target.form.requestSubmit();
});
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    const zone = event.target.closest && event.target.closest(".drop");
    if (!zone) return;
    zone.classList.toggle("over", name === "dragover");
    if (name === "dragover") event.preventDefault();
    if (name === "drop") {
      event.preventDefault();
      const input = zone.querySelector("input[type=file]");
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
}
