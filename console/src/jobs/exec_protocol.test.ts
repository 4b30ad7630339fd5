import { describe, expect, it } from 'vitest';
import { Exec, exitWords, PIECE, splitCommand, WINDOW } from './exec_protocol';

function made() {
  const sent: (string | Uint8Array)[] = [];
  const heard: string[] = [];
  const exec = new Exec(
    { send: (data) => sent.push(data) },
    {
      begun: () => heard.push('begun'),
      output: (bytes, done) => (heard.push(new TextDecoder().decode(bytes)), done()),
      ended: (exit) => heard.push(exitWords(exit)),
      failed: (message) => heard.push(message),
    },
  );
  return { exec, sent, heard };
}

describe('exec', () => {
  it('says what to run, and holds input back until it runs', () => {
    const { exec, sent, heard } = made();
    exec.open({ command: ['bash'], task: '0', rows: 24, columns: 80 });
    expect(JSON.parse(sent[0] as string).exec).toMatchObject({
      command: ['bash'],
      terminal: true,
      input: true,
      rows: 24,
    });
    exec.type(new TextEncoder().encode('ls'));
    expect(sent.length).toBe(1);
    exec.hear('{"begun":{"rank":0}}');
    expect([...(sent[1] as Uint8Array)]).toEqual([0, 108, 115]);
    expect(heard).toEqual(['begun']);
  });
  it('says what output it took', () => {
    const { exec, sent, heard } = made();
    exec.hear(new Uint8Array([1, 104, 105]).buffer);
    expect(heard).toEqual(['hi']);
    expect(sent).toEqual(['{"took":2}']);
  });
  it('sends no more than the window before it was taken', () => {
    const { exec, sent } = made();
    exec.hear('{"begun":{}}');
    exec.type(new Uint8Array(WINDOW + 5));
    expect(sent.length).toBe(WINDOW / PIECE);
    exec.hear(`{"took":${PIECE}}`);
    expect((sent.at(-1) as Uint8Array).length).toBe(6);
    expect(exec.type(new Uint8Array(2 ** 21))).toBe(false);
  });
  it('tells how it ended', () => {
    const { exec, heard } = made();
    exec.hear('{"exit":{"rank":0,"exit_code":3,"signal":0,"cause":""}}');
    exec.hear('{"error":{"code":"not_running","message":"it is over"}}');
    expect(heard).toEqual(['It ended with exit code 3.', 'it is over']);
  });
});

it('splits a command into words without expanding anything', () => {
  expect(splitCommand('bash')).toEqual(['bash']);
  expect(splitCommand(`python 'my file.py' --x="a b" $HOME`)).toEqual(['python', 'my file.py', '--x=a b', '$HOME']);
});
