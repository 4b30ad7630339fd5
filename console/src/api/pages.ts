// Lists that the server gives a page at a time, as one.
import { get } from './http';

interface Page {
  next?: string | number | null;
  [member: string]: unknown;
}

function withAfter(path: string, next: string | number): string {
  return `${path}${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(next)}`;
}

// The answer at `path`, whose list `member` has the entries of all pages. Each page begins where the one before it ended, so
// that nothing comes twice, whatever changes meanwhile. A server that gives the same `next` again would do so without end.
export async function getAll(path: string, member: string, read: (path: string) => Promise<unknown> = get) {
  const first = (await read(path)) as Page;
  const items = [...(first[member] as unknown[])];
  let next = first.next;
  while (next != null) {
    const page = (await read(withAfter(path, next))) as Page;
    items.push(...(page[member] as unknown[]));
    next = page.next === next ? null : page.next;
  }
  return { ...first, [member]: items, next: null };
}
