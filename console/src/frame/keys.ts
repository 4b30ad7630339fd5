// Keys: "/" for the filter, "?" for help, "g j" and the like to go somewhere.
export interface KeyEventLike {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

export interface Binding {
  keys: string; // "g j", "?"
  what: string;
  run: () => void;
}

const CHORD_MS = 1200;

// Feeds keys one by one; gives the binding that is complete with this key.
export class Chords {
  private first = '';
  private at = 0;

  constructor(private readonly bindings: () => readonly Binding[]) {}

  take(event: KeyEventLike, now: number): Binding | undefined {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1) {
      this.first = '';
      return undefined;
    }
    const before = now - this.at < CHORD_MS ? this.first : '';
    const typed = before ? `${before} ${event.key}` : event.key;
    const found = this.bindings().find((binding) => binding.keys === typed);
    const begins = this.bindings().some((binding) => binding.keys.startsWith(`${event.key} `));
    this.first = !found && begins ? event.key : '';
    this.at = now;
    return found;
  }
}

// Whether what is typed goes to the element itself.
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest('.xterm, dialog') !== null
  );
}
