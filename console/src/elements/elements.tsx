// The small things that every page is made of.
import { useEffect, useState, type ReactNode } from 'react';
import type { ApiError } from '../api/http';
import { exact, relative, words } from './format';

let ticking = new Set<() => void>();
setInterval(() => ticking.forEach((tell) => tell()), 10_000);

// Now, in microseconds; the caller is drawn again every ten seconds.
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now() * 1000);
  useEffect(() => {
    const tell = () => setNow(Date.now() * 1000);
    ticking.add(tell);
    return () => void ticking.delete(tell);
  }, []);
  return now;
}

export function Time({ us }: { us: number | null | undefined }) {
  const now = useNow();
  if (us === null || us === undefined) return <span className="faint">–</span>;
  return (
    <time dateTime={new Date(us / 1000).toISOString()} title={exact(us)}>
      {relative(us, now)}
    </time>
  );
}

// The kinds that states are coloured by; the word is always there too.
const TONES: Record<string, string> = {
  running: 'good',
  completed: 'done',
  ready: 'good',
  connected: 'good',
  up: 'good',
  down: 'bad',
  open: 'good',
  waiting: 'wait',
  preparing: 'busy',
  stopping: 'busy',
  held: 'hold',
  draining: 'hold',
  drained: 'hold',
  failed: 'bad',
  timed_out: 'bad',
  node_lost: 'bad',
  lost: 'bad',
  broken: 'bad',
  silent: 'bad',
  expelled: 'bad',
  repair: 'bad',
  suspect: 'hold',
  onboard: 'busy',
  test: 'busy',
  critical: 'bad',
  fault: 'bad',
  warning: 'hold',
  closed: 'hold',
  dependency_never_met: 'bad',
  deadline_missed: 'bad',
  stopped_idle: 'bad',
};

export function State({ word }: { word: string }) {
  return (
    <span className={`state ${TONES[word] ?? 'none'}`} data-state={word}>
      <span className="dot" aria-hidden="true" />
      {words(word)}
    </span>
  );
}

export function Meter({ part, whole, label }: { part: number; whole: number; label: string }) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return (
    <div className="meter" role="img" aria-label={label}>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect className="meter-rest" width="100" height="4" />
        <rect className="meter-part" width={100 * share} height="4" />
      </svg>
    </div>
  );
}

export function Skeleton({ lines = 6 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status">
      <span className="hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="skeleton-line" />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Trouble({ error }: { error: ApiError | undefined }) {
  if (!error) return null;
  return (
    <p className="trouble" role="alert">
      {error.message} <span className="faint">({error.code})</span>
    </p>
  );
}

export function Page({
  title,
  detail,
  actions,
  children,
}: {
  title: ReactNode;
  detail?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {detail && <div className="page-detail">{detail}</div>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

export function Panel({
  title,
  actions,
  children,
  className = '',
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`panel ${className}`} aria-label={title}>
      <div className="panel-head">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

// A table that scrolls sideways on its own where the page is narrow.
export function Table({
  label,
  head,
  children,
  className = '',
}: {
  label: string;
  head: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <div className={`table-frame ${className}`} tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>{head}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

// What a panel lists: that it cannot be read, is being read, is nothing, or a table of it with a last column for actions.
export function Listing<Item>({
  label,
  columns,
  items,
  error,
  empty,
  lines = 2,
  children,
}: {
  label: string;
  columns: string[];
  items: Item[] | undefined; // not read yet
  error: ApiError | undefined;
  empty: ReactNode;
  lines?: number; // while it is read
  children: (item: Item, at: number) => ReactNode; // its row
}) {
  return (
    <>
      <Trouble error={error} />
      {!items && !error && <Skeleton lines={lines} />}
      {items && items.length === 0 && empty}
      {items && items.length > 0 && (
        <Table
          label={label}
          head={
            <>
              {columns.map((name) => (
                <th key={name}>{name}</th>
              ))}
              <td />
            </>
          }
        >
          {items.map(children)}
        </Table>
      )}
    </>
  );
}

export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
