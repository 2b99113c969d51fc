// The one dialog of the page: asks for a few values before an act.

const byId = (id) => document.getElementById(id);

/**
 * Shows the dialog and gives the values by name; undefined when the person goes back. A field is a text, a text with
 * suggestions (`choices`), or a choice (`options`).
 */
export function ask({ title, ok, fields }) {
  const dialog = byId("ask");
  byId("ask-title").textContent = title;
  byId("ask-ok").textContent = ok;
  byId("ask-fields").replaceChildren(...fields.map(fieldLine));
  dialog.returnValue = "";
  byId("ask-ok").value = "ok";
  dialog.showModal();
  dialog.querySelector("input, select")?.focus();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        const given = fields.map(({ name }) => [name, byId(`ask-${name}`).value.trim()]);
        resolve(dialog.returnValue === "ok" ? Object.fromEntries(given) : undefined);
      },
      { once: true },
    );
  });
}

function fieldLine({ name, label, value = "", choices, options, isOptional = false }) {
  const line = document.createElement("label");
  const input = document.createElement(options ? "select" : "input");
  input.id = `ask-${name}`;
  input.required = !isOptional;
  if (options) input.append(...options.map((option) => new Option(option.text, String(option.value))));
  else {
    input.value = value;
    input.autocomplete = "off";
  }
  line.append(label, input);
  if (choices) {
    const list = document.createElement("datalist");
    list.id = `ask-${name}-choices`;
    list.append(...choices.map((choice) => new Option(choice, choice)));
    input.setAttribute("list", list.id);
    line.append(list);
  }
  return line;
}

byId("ask-cancel").addEventListener("click", () => byId("ask").close());
