// The plan: reservations, promised starts, and when what runs must be over.
import { useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import { useQuery } from '../api/query';
import type { JobsPage } from '../api/types';
import { Empty, Page, Panel, Skeleton, Table, Time, Trouble } from '../elements/elements';
import { words } from '../elements/format';
import { barsOf, ROWS, type ReservationLike } from './gantt';
import { Gantt } from './gantt_canvas';

export default function PlanPage() {
  const [, go] = useLocation();
  const reservations = useQuery<{ objects: ReservationLike[] }>(
    '/v1/objects?kind=reservation&limit=10000',
    ['objects'],
    'objects',
  );
  const waiting = useQuery<JobsPage>('/v1/jobs?state=waiting&limit=2000', ['jobs']);
  const running = useQuery<JobsPage>('/v1/jobs?state=active&limit=200', ['jobs']);
  const ready = reservations.data && waiting.data && running.data;
  const all = useMemo(
    () => barsOf(reservations.data?.objects ?? [], waiting.data?.jobs ?? [], running.data?.jobs ?? []),
    [reservations.data, waiting.data, running.data],
  );
  const bars = useMemo(() => all.slice(0, ROWS), [all]);
  const isCut = bars.length < all.length;
  return (
    <Page
      title="Plan"
      detail={
        <ul className="legend">
          {(['reserved', 'outage', 'promised', 'running'] as const).map((tone) => (
            <li key={tone}>
              <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
                <rect width="10" height="10" className={`bar-${tone}`} />
              </svg>
              {words(tone)}
            </li>
          ))}
        </ul>
      }
    >
      <Trouble error={reservations.error ?? waiting.error ?? running.error} />
      {!ready && <Skeleton />}
      {ready && bars.length === 0 && (
        <Empty title="Nothing is planned.">
          <p>Reservations, promised starts of waiting jobs and running jobs appear here.</p>
        </Empty>
      )}
      {ready && bars.length > 0 && (
        <>
          {(isCut || waiting.data?.next != null || running.data?.next != null) && (
            <p className="faint">
              Not all of it: of the oldest 2,000 jobs that wait and the oldest 200 that run, the first {ROWS} bars.
            </p>
          )}
          <Panel title="In time">
            <Gantt bars={bars} onOpen={(bar) => bar.path && go(bar.path)} />
          </Panel>
          <Panel title="As a table">
            <Table
              label="The plan"
              head={['What', 'Kind', 'From', 'Until'].map((name) => (
                <th key={name}>{name}</th>
              ))}
            >
              {bars.map((bar) => (
                <tr key={bar.key}>
                  <td>{bar.path ? <Link href={bar.path}>{bar.name}</Link> : bar.name}</td>
                  <td>{bar.detail}</td>
                  <td>
                    <Time us={bar.from} />
                  </td>
                  <td>{bar.to === null ? 'open' : <Time us={bar.to} />}</td>
                </tr>
              ))}
            </Table>
          </Panel>
        </>
      )}
    </Page>
  );
}
