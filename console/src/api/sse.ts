// Server-sent events, read from the pieces of an answer. Pure.
export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

const LINE_MAX = 16 * 1024 * 1024;

export class EventReader {
  private rest = '';
  private id = '';
  private event = '';
  private data: string[] = [];

  // The events that are complete with `piece`. Throws when a line has no end.
  take(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + piece).split('\n');
    this.rest = lines.pop()!;
    if (this.rest.length > LINE_MAX) throw new Error('an event is too long');
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') this.end(events);
      else this.field(line);
    }
    return events;
  }

  private field(line: string) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'id') this.id = value;
    if (name === 'event') this.event = value;
    if (name === 'data') this.data.push(value);
  }

  private end(events: ServerEvent[]) {
    if (this.data.length > 0 || this.event)
      events.push({ id: this.id, event: this.event || 'message', data: this.data.join('\n') });
    this.event = '';
    this.data = [];
  }
}
