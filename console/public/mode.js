// Runs before the first paint, so that a chosen mode never flashes the other one. `data-mode` is what a person chose, if
// anything; `data-shade` is what is shown.
(() => {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const show = () => {
    root.dataset.shade = root.dataset.mode ?? (system.matches ? 'dark' : 'light');
  };
  try {
    const mode = localStorage.getItem('dove-mode');
    if (mode === 'light' || mode === 'dark') root.dataset.mode = mode;
  } catch {
    // Without storage the system's mode is shown.
  }
  show();
  system.addEventListener('change', show);
  window.addEventListener('dove-mode', show);
})();
