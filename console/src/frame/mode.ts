// Light, dark, or as the system has it. public/mode.js sets it before the first paint.
export type Mode = 'auto' | 'light' | 'dark';
export const MODES: Mode[] = ['auto', 'light', 'dark'];
const KEY = 'dove-mode';

export function mode(): Mode {
  const chosen = document.documentElement.dataset.mode;
  return chosen === 'light' || chosen === 'dark' ? chosen : 'auto';
}

export function setMode(to: Mode) {
  if (to === 'auto') delete document.documentElement.dataset.mode;
  else document.documentElement.dataset.mode = to;
  try {
    if (to === 'auto') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, to);
  } catch {
    // Without storage it holds until the page is left.
  }
  window.dispatchEvent(new Event('dove-mode'));
}

// `tell` is called when colours have changed, whoever changed them.
export function onColours(tell: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  window.addEventListener('dove-mode', tell);
  system.addEventListener('change', tell);
  return () => {
    window.removeEventListener('dove-mode', tell);
    system.removeEventListener('change', tell);
  };
}

// The value of a design token, for canvases.
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
