// What a task prints, followed as it is printed.
import { useEffect, useRef, useState } from 'react';
import { ApiError, send, withQuery } from '../api/http';
import type { Job } from '../api/types';
import { Empty, Trouble } from '../elements/elements';
import { Output } from './output';
import { referenceOf } from './filters';

const TAIL = 5000;
const DRAW_MS = 80;

interface Followed {
  text: string;
  over: boolean;
  dropped: boolean;
  error?: ApiError;
}

async function follow(path: string, signal: AbortSignal, show: (followed: Followed) => void) {
  const output = new Output();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = (over: boolean, error?: ApiError) => {
    clearTimeout(timer);
    timer = undefined;
    if (!signal.aborted) show({ text: output.shown(), over, dropped: output.dropped, error });
  };
  try {
    const response = await send(path, { signal });
    draw(false);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      output.add(value);
      timer ??= setTimeout(() => draw(false), DRAW_MS);
    }
    draw(true);
  } catch (error) {
    if (signal.aborted) return;
    draw(
      true,
      error instanceof ApiError
        ? error
        : new ApiError(0, 'broken', 'The connection broke. Choose the output again to go on.'),
    );
  }
}

function useFollowed(path: string | null): Followed | null {
  const [followed, show] = useState<Followed | null>(null);
  useEffect(() => {
    show(null);
    if (path === null) return;
    const stop = new AbortController();
    void follow(path, stop.signal, show);
    return () => stop.abort();
  }, [path]);
  return followed;
}

interface Choice {
  rank: number;
  stream: string;
  attempt: number;
}

function Choices({ job, choice, choose }: { job: Job; choice: Choice; choose: (more: Partial<Choice>) => void }) {
  const ranks = job.launch === 'batch' ? 1 : Math.max(1, job.request.tasks);
  return (
    <>
      <label>
        Rank
        <input
          type="number"
          min={0}
          max={ranks - 1}
          value={choice.rank}
          disabled={ranks === 1}
          onChange={(event) => choose({ rank: Math.min(ranks - 1, Math.max(0, Number(event.target.value) || 0)) })}
        />
      </label>
      <label>
        Stream
        <select value={choice.stream} onChange={(event) => choose({ stream: event.target.value })}>
          <option>stdout</option>
          <option>stderr</option>
        </select>
      </label>
      <label>
        Attempt
        <select value={choice.attempt} onChange={(event) => choose({ attempt: Number(event.target.value) })}>
          {job.attempts.map((one) => (
            <option key={one.number}>{one.number}</option>
          ))}
        </select>
      </label>
    </>
  );
}

// The output, which stays at its end while a reader is there.
function Shown({ followed }: { followed: Followed | null }) {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [followed]);
  return (
    <pre
      ref={box}
      className="log"
      tabIndex={0}
      role="log"
      aria-label="Output"
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        atEnd.current = scrollTop + clientHeight >= scrollHeight - 24;
      }}
    >
      {followed?.text || (followed?.over && !followed.error ? 'It printed nothing.' : '')}
    </pre>
  );
}

export function Logs({ job }: { job: Job }) {
  const [chosen, choose] = useState<Partial<Choice>>({});
  const last = chosen.attempt === undefined || chosen.attempt === job.attempt;
  const choice: Choice = { rank: 0, stream: 'stdout', ...chosen, attempt: last ? job.attempt : chosen.attempt! };
  const path = `/v1/jobs/${referenceOf(job)}/logs`;
  const followed = useFollowed(job.attempt > 0 ? withQuery(path, { ...choice, follow: 1, tail: TAIL }) : null);
  if (job.attempt === 0) {
    return (
      <Empty title="The job has printed nothing.">
        <p>It has not started. Its summary says what it waits for; what it prints appears here by itself.</p>
      </Empty>
    );
  }
  return (
    <div className="logs">
      <div className="filters">
        <Choices job={job} choice={choice} choose={(more) => choose({ ...chosen, ...more })} />
        <a
          className="button"
          href={withQuery(path, { ...choice })}
          download={`job-${referenceOf(job)}-${choice.rank}.${choice.stream}`}
        >
          Download
        </a>
        <span className="faint" role="status">
          {followed === null ? 'Reading…' : followed.over ? 'The whole output' : 'Following'}
        </span>
      </div>
      <Trouble error={followed?.error} />
      {followed?.dropped && <p className="faint">Only the end is shown; the download has all of it.</p>}
      <Shown followed={followed} />
    </div>
  );
}
