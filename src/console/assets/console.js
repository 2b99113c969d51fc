// A page that refreshes itself says when it can't, and keeps still while somebody marks a text to copy it, or chooses rows.
const silent = () => document.getElementById("silent");
document.addEventListener("htmx:before:request", (event) => {
  const isInUse =
    String(getSelection()) !== "" || document.querySelector(".choose-form input:checked") !== null;
  if (event.target.id === "page" && isInUse) event.preventDefault();
});
document.addEventListener("htmx:after:request", (event) => {
  const status = event.detail?.ctx?.response?.status;
  if (status === 401) location.reload();
  else if (silent()) silent().hidden = status !== undefined && status < 500;
});
document.addEventListener("htmx:error", () => {
  if (silent()) silent().hidden = false;
});
// A filter takes effect when it is chosen.
document.addEventListener("change", (event) => {
  if (event.target.form?.dataset.auto !== undefined) event.target.form.requestSubmit();
});
