// The words of a command in a running task (api/agent-protocol.md, "Commands"), over a socket that
// the caller opens. Each direction has at most 512 KiB that were not said to be taken.
export interface Exit {
  exit_code: number;
  signal: number;
  cause: string;
}

export interface ExecEvents {
  begun: () => void;
  output: (bytes: Uint8Array, done: () => void) => void; // done(): they were shown
  ended: (exit: Exit) => void;
  failed: (message: string) => void;
}

export interface Socket {
  send: (data: string | Uint8Array<ArrayBuffer>) => void;
}

const STDIN = 0;
export const PIECE = 32 * 1024;
export const WINDOW = 512 * 1024;
const INPUT_MAX = 1024 * 1024; // what is typed or pasted and not sent yet

export interface ExecRequest {
  command: string[];
  task: string;
  rows: number;
  columns: number;
}

export class Exec {
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  private sent = 0;
  private taken = 0; // in all, of input
  private shown = 0; // in all, of output
  private isBegun = false;

  constructor(
    private readonly socket: Socket,
    private readonly on: ExecEvents,
  ) {}

  open(request: ExecRequest) {
    const environment = { TERM: 'xterm-256color' };
    this.socket.send(JSON.stringify({ exec: { ...request, terminal: true, input: true, environment } }));
  }

  // False: there is no room for it, and nothing of it was taken.
  type(bytes: Uint8Array): boolean {
    if (this.waitingBytes + bytes.length > INPUT_MAX) return false;
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    this.pump();
    return true;
  }

  resize(rows: number, columns: number) {
    if (this.isBegun) this.socket.send(JSON.stringify({ resize: { rows, columns } }));
  }

  hear(data: string | ArrayBuffer) {
    if (typeof data !== 'string') return this.takeOutput(new Uint8Array(data));
    const said = JSON.parse(data) as { begun?: unknown; took?: number; exit?: Exit; error?: { message: string } };
    if (said.begun !== undefined) {
      this.isBegun = true;
      this.on.begun();
      this.pump();
    }
    if (said.took !== undefined) {
      this.taken += said.took;
      this.pump();
    }
    if (said.exit) this.on.ended(said.exit);
    if (said.error) this.on.failed(said.error.message);
  }

  private takeOutput(message: Uint8Array) {
    const bytes = message.subarray(1);
    this.on.output(bytes, () => {
      this.shown += bytes.length;
      this.socket.send(JSON.stringify({ took: bytes.length }));
    });
  }

  private pump() {
    while (this.isBegun && this.waiting.length > 0) {
      const room = Math.min(PIECE, WINDOW - (this.sent - this.taken));
      if (room <= 0) return;
      const first = this.waiting[0]!;
      const piece = first.subarray(0, room);
      if (piece.length === first.length) this.waiting.shift();
      else this.waiting[0] = first.subarray(piece.length);
      const message = new Uint8Array(piece.length + 1);
      message[0] = STDIN;
      message.set(piece, 1);
      this.socket.send(message);
      this.sent += piece.length;
      this.waitingBytes -= piece.length;
    }
  }
}

// "python 'my file.py'": ["python", "my file.py"]. Quotes group words; nothing is expanded.
export function splitCommand(text: string): string[] {
  const parts = text.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return parts.map((part) =>
    part.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ''),
  );
}

export function exitWords(exit: Exit): string {
  if (exit.cause) return `It ended: ${exit.cause}.`;
  if (exit.signal) return `It was ended by signal ${exit.signal}.`;
  return `It ended with exit code ${exit.exit_code}.`;
}
