// What a question or a check lacks in the browser, for the keyboard and for a screen reader. The view shows nothing but
// a line of text when Python does not answer. It works on the box (.rl-teaching) in which it stands.

const PATIENCE = 20, FIRST_DELAY = 50, LONGEST_DELAY = 3000; // milliseconds; a minute in all
const SILENCE = 4000; // milliseconds after a press of a button
const NO_ANSWER =
  "⚠ Python does not answer. If it is busy with another cell, wait. If it was stopped or restarted, " +
  "run this cell again (Shift + Enter): nothing you locked or solved is lost.";

let groups = 0;

/** Radio buttons are one group, so that the arrow keys move the choice; ipywidgets gives them no common name. */
function group(box) {
  const radios = [...box.querySelectorAll('input[type="radio"]')];
  if (radios.every((radio) => radio.name)) return;
  const name = radios.find((radio) => radio.name)?.name ?? `rl-choice-${++groups}`;
  for (const radio of radios) radio.name = name;
}

/** Names, roles and states for elements, by CSS selector; and the words of a slider's step as its value. */
function describe(box, attributes) {
  const set = (element, name, value) => {
    if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
  };
  for (const [css, values] of Object.entries(attributes))
    for (const [name, value] of Object.entries(values)) set(box.querySelector(css), name, value);
  const words = box.querySelector(".widget-readout")?.textContent; // the slider itself says the number of its step
  if (words) set(box.querySelector(".noUi-handle"), "aria-valuetext", words);
}

/** A control's arrow keys are its own: JupyterLab would move to another cell. */
function keepArrows(event) {
  if (event.key.startsWith("Arrow") && event.target.matches("input, .noUi-handle")) event.stopPropagation();
}

/** Move the focus, unless the person has gone elsewhere by now. */
function focus(box, css) {
  const here = document.activeElement;
  if (here === document.body || box.contains(here)) box.querySelector(css)?.focus();
}

export default {
  async render({model, el}) {
    const reference = model.get("control");
    const control = reference && (await model.widget_manager.get_model(reference.replace(/^IPY_MODEL_/, "")));
    el.classList.add("rl-no-answer");
    el.setAttribute("role", "status");
    el.style.margin = "2px";
    let box = null, search = null, silence = null;
    const observer = new MutationObserver(() => all());
    const all = () => {
      group(box);
      describe(box, model.get("attributes"));
    };
    const pressed = (event) => {
      if (!event.target.closest(".rl-press")) return;
      clearTimeout(silence);
      silence = setTimeout(() => (el.textContent = NO_ANSWER), SILENCE);
      if (control) model.send({state: control.get(model.get("trait"))}); // before the press itself: see browser.py
    };
    const answered = () => {
      clearTimeout(silence);
      el.textContent = "";
    };
    const heard = (message) => {
      answered();
      if (message.focus) requestAnimationFrame(() => focus(box, message.focus));
    };
    const changed = () => box && all();
    const find = (left = PATIENCE, delay = FIRST_DELAY) => {
      box = el.closest(".rl-teaching");
      if (box === null && left > 0) {
        search = setTimeout(() => find(left - 1, Math.min(2 * delay, LONGEST_DELAY)), delay);
      } else if (box !== null) {
        box.addEventListener("keydown", keepArrows);
        box.addEventListener("click", pressed, true);
        observer.observe(box, {
          subtree: true, childList: true, attributes: true, attributeFilter: ["aria-valuetext", "disabled"],
        });
        all();
      }
    };
    model.on("change:attributes", changed);
    model.on("msg:custom", heard);
    find();
    return () => {
      clearTimeout(search);
      clearTimeout(silence);
      observer.disconnect();
      box?.removeEventListener("keydown", keepArrows);
      box?.removeEventListener("click", pressed, true);
      model.off("change:attributes", changed);
      model.off("msg:custom", heard);
    };
  },
};
