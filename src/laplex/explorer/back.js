// Without it, Streamlit changes the address at a click on the back button, but not the page.
export default function () {
  if (window.laplexPath === undefined)
    window.addEventListener("popstate", () => {
      if (location.pathname === window.laplexPath) location.reload();
      window.laplexPath = location.pathname;
    });
  window.laplexPath = location.pathname;
}
