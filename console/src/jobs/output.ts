// Output: what a task prints, as lines that a page can show; bounded. Pure.

// Escape sequences of terminals, which a page does not draw.
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

export const KEPT_CHARS = 1_000_000;

// A line that was written over with carriage returns shows what it says last.
function settled(line: string): string {
  const body = line.endsWith('\r') ? line.slice(0, -1) : line;
  return body.slice(body.lastIndexOf('\r') + 1);
}

export class Output {
  private text = '';
  dropped = false;

  add(piece: string) {
    this.text += piece;
    if (this.text.length <= KEPT_CHARS) return;
    const cut = this.text.length - KEPT_CHARS;
    const line = this.text.indexOf('\n', cut);
    this.text = this.text.slice(line < 0 ? cut : line + 1);
    this.dropped = true;
  }

  shown(): string {
    return this.text.replace(ESCAPES, '').split('\n').map(settled).join('\n');
  }
}
