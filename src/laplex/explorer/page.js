// Where the server is: without it, Streamlit looks below the address of the page first, and finds nothing there.
window.__streamlit = { BACKEND_BASE_URL: location.origin };

// When another page is chosen, Streamlit adds the page without its choices to the history before it adds the other one.
// The other takes its place, so that the back button leads to the page with its choices.
const pushState = history.pushState.bind(history);
const moment = 2000; // milliseconds
let stripped = 0;
history.pushState = (state, title, address) => {
  const from = new URL(location.href), to = new URL(address, from);
  const other = from.pathname !== to.pathname;
  if (other && Date.now() < stripped) history.replaceState(state, title, address);
  else pushState(state, title, address);
  stripped = !other && [...to.searchParams].length < [...from.searchParams].length ? Date.now() + moment : 0;
};
