// xterm.js writes its rules into <style> elements. The page's policy forbids these (no inline styles),
// but not sheets that a script builds: what is written into such an element goes into a sheet instead.

// The element that stands for a <style>; remove() takes its rules away too.
function sheetElement(): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const element = document.createElement('span');
  element.hidden = true;
  Object.defineProperty(element, 'textContent', { set: (text: string) => sheet.replaceSync(text), get: () => '' });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
    remove();
  };
  return element;
}

// Calls `open`, which may make <style> elements before it returns.
export function withSheets(open: () => void) {
  const make = document.createElement.bind(document);
  const own = (tag: string, options?: ElementCreationOptions) => {
    if (tag !== 'style') return make(tag, options);
    document.createElement = make;
    const element = sheetElement();
    document.createElement = own as typeof document.createElement;
    return element;
  };
  document.createElement = own as typeof document.createElement;
  try {
    open();
  } finally {
    delete (document as Partial<Document>).createElement;
  }
}
