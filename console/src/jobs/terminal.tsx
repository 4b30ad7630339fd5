// A command in a running task, in a terminal.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal as Screen } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState, type FormEvent } from 'react';
import type { Job } from '../api/types';
import { Empty } from '../elements/elements';
import { token } from '../frame/mode';
import { Exec, exitWords, splitCommand } from './exec_protocol';
import { referenceOf } from './filters';
import { withSheets } from './style_sheets';

interface Wanted {
  command: string[];
  task: string;
}

// Every key goes to the program, Tab and Escape too: without this one nobody leaves it by keys alone (WCAG 2.1.2).
const leaves = (event: KeyboardEvent) => event.ctrlKey && event.shiftKey && event.code === 'KeyE';

function connect(job: string, wanted: Wanted, screen: Screen, tell: (text: string, over: boolean) => void): () => void {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const socket = new WebSocket(`${scheme}://${location.host}/v1/jobs/${job}/exec`);
  socket.binaryType = 'arraybuffer';
  let over = false;
  const end = (text: string) => {
    if (over) return;
    over = true;
    tell(text, true);
    socket.close();
  };
  const send = (data: string | Uint8Array<ArrayBuffer>) => socket.readyState === WebSocket.OPEN && socket.send(data);
  const exec = new Exec(
    { send },
    {
      begun: () => (tell('It runs. Ctrl+Shift+E leaves it.', false), screen.focus()),
      output: (bytes, done) => screen.write(bytes, done),
      ended: (exit) => end(exitWords(exit)),
      failed: end,
    },
  );
  socket.onopen = () => exec.open({ ...wanted, rows: screen.rows, columns: screen.cols });
  socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => exec.hear(event.data);
  socket.onclose = () => end('The connection ended. The command ended with it.');
  const typed = screen.onData((text) => void exec.type(new TextEncoder().encode(text)));
  const sized = screen.onResize(({ rows, cols }) => exec.resize(rows, cols));
  return () => {
    over = true;
    typed.dispose();
    sized.dispose();
    socket.close();
  };
}

function Session({ job, wanted }: { job: string; wanted: Wanted }) {
  const box = useRef<HTMLDivElement>(null);
  const way = useRef<HTMLParagraphElement>(null);
  const [said, say] = useState({ text: 'Connecting…', over: false });
  useEffect(() => {
    const screen = new Screen({
      fontFamily: token('--mono'),
      fontSize: 13,
      scrollback: 5000,
      screenReaderMode: true,
      theme: { background: '#14161b', foreground: '#e6e8ec' },
    });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    withSheets(() => screen.open(box.current!));
    screen.attachCustomKeyEventHandler((event) => {
      if (!leaves(event)) return true;
      event.preventDefault();
      if (event.type === 'keydown') way.current!.focus();
      return false;
    });
    fit.fit();
    const sized = new ResizeObserver(() => fit.fit());
    sized.observe(box.current!);
    const leave = connect(job, wanted, screen, (text, over) => say({ text, over }));
    return () => {
      sized.disconnect();
      leave();
      screen.dispose();
    };
  }, [job, wanted]);
  return (
    <>
      <p className="faint" role="status" tabIndex={-1} ref={way} data-terminal={said.over ? 'over' : 'open'}>
        {said.text}
      </p>
      <div className="terminal-box" ref={box} />
    </>
  );
}

export default function Terminal({ job }: { job: Job }) {
  const [wanted, want] = useState<Wanted>();
  const [session, next] = useState(0);
  if (job.phase !== 'active') {
    return (
      <Empty title="There is nothing to open a terminal in.">
        <p>A terminal opens inside a running task, beside the job's own program.</p>
      </Empty>
    );
  }
  const open = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const command = splitCommand(String(form.get('command')));
    if (command.length === 0) return;
    want({ command, task: String(form.get('task')) });
    next(session + 1);
  };
  return (
    <>
      <form className="filters" onSubmit={open}>
        <label>
          Command
          <input name="command" defaultValue="bash" required maxLength={4096} spellCheck={false} />
        </label>
        <label>
          Task
          <input name="task" defaultValue="0" required maxLength={80} className="narrow" />
        </label>
        <button type="submit" className="primary">
          {wanted ? 'Open again' : 'Open'}
        </button>
        <span className="faint">The log of events says who ran which program here.</span>
      </form>
      {wanted && <Session key={session} job={referenceOf(job)} wanted={wanted} />}
    </>
  );
}
