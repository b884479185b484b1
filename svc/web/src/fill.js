/**
 * Fill in a form field on the page, as if the user had typed the value.
 * @param {string} name the field's name @param {string} value
 */
export function fill(name, value) {
  const field = document.querySelector(`form [name="${name}"]`);
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return;
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
