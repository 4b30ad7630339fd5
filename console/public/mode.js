// Runs before the first paint, so that a chosen mode never flashes the other one.
try {
  const mode = localStorage.getItem('dove-mode');
  if (mode === 'light' || mode === 'dark') document.documentElement.dataset.mode = mode;
} catch {
  // Without storage the system's mode is shown.
}
