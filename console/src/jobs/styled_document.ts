// A document for xterm.js, which writes its rules into <style> elements as it runs. The page's policy
// forbids these (no inline styles), but not sheets that a script builds: what is written into such an
// element goes into a sheet of its own.

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

export function styledDocument(): Document {
  return new Proxy(document, {
    get(target, name) {
      if (name === 'createElement') {
        return (tag: string, options?: ElementCreationOptions) => (tag === 'style' ? sheetElement() : target.createElement(tag, options));
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
