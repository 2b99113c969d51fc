// A page that refreshes itself says when it can't, and keeps still while somebody wants it to, marks a text to copy it, or chooses rows.
const silent = () => document.getElementById("silent");
const isPaused = () => sessionStorage.getItem("paused") !== null;
document.addEventListener("htmx:before:request", (event) => {
  const isInUse =
    String(getSelection()) !== "" || document.querySelector(".choose-form input:checked") !== null;
  if (event.target.id === "page" && (isInUse || isPaused())) event.preventDefault();
});
document.addEventListener("htmx:after:request", (event) => {
  const status = event.detail?.ctx?.response?.status;
  if (status === 401) location.reload();
  else if (silent()) silent().hidden = status !== undefined && status < 500;
});
document.addEventListener("htmx:error", () => {
  if (silent()) silent().hidden = false;
});
const pause = document.getElementById("pause");
const showPause = () => {
  pause.hidden = false;
  pause.textContent = isPaused() ? "Go on refreshing" : "Pause refreshing";
};
if (pause) {
  showPause();
  pause.addEventListener("click", () => {
    if (isPaused()) sessionStorage.removeItem("paused");
    else sessionStorage.setItem("paused", "yes");
    showPause();
  });
}
// On a small window the menu is wider than its row.
document.querySelector("header nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
