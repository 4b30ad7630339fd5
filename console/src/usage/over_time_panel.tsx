// Who held how many GPU hours over the last day, week or month.
import { useEffect, useMemo, useState } from 'react';
import { withQuery } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { UsageOverTime } from '../api/types';
import { Empty, Meter, Panel, Skeleton, Table, Time, Trouble } from '../elements/elements';
import { grouped } from '../elements/format';
import { Plot } from '../overview/plot';
import { BY, linesOf, nameOf, SPANS, type By, type Span } from './over_time';

const MOST = 6;
const EVERY_MS = 60_000; // a month's jobs are many: not at each change

const hours = (value: number) => (value < 100 ? value.toFixed(1) : grouped(Math.round(value)));

function HourTable({ usage, by, says }: { usage: UsageOverTime; by: By; says: string }) {
  const most = Math.max(1e-9, ...usage.rows.map((row) => row.gpu_hours));
  return (
    <Table
      label={`Held over the ${says}`}
      head={['Name', 'GPU hours', 'Core hours', 'Jobs'].map((name, at) => (
        <th key={name} className={at > 1 ? 'number' : ''}>
          {name}
        </th>
      ))}
    >
      {usage.rows.map((row) => (
        <tr key={row.name}>
          <td className="strong">{nameOf(by, row.name)}</td>
          <td className="with-meter">
            {hours(row.gpu_hours)}
            <Meter part={row.gpu_hours} whole={most} label={`${hours(row.gpu_hours)} GPU hours`} />
          </td>
          <td className="number">{hours(row.core_hours)}</td>
          <td className="number">{grouped(row.jobs)}</td>
        </tr>
      ))}
    </Table>
  );
}

export function OverTimePanel() {
  const [by, setBy] = useState<By>('user');
  const [span, setSpan] = useState<Span>(SPANS[1]);
  const { data, error } = useQuery<UsageOverTime>(
    withQuery('/v1/usage', { by, seconds: span.days * 86_400, steps: span.steps, limit: 100 }),
    ['usage'],
  );
  useEffect(() => {
    const timer = setInterval(() => refresh('usage'), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const shown = useMemo(() => (data ? linesOf(data, by, MOST) : undefined), [data, by]);
  const names = shown?.names.join('\n') ?? '';
  const lines = useMemo(() => names.split('\n').map((name, at) => ({ name, colour: `--heat-c${at}` })), [names]);
  return (
    <Panel
      title={`GPUs held over the ${span.says}`}
      actions={
        <span className="row-actions">
          <select aria-label="By" value={by} onChange={(event) => setBy(event.target.value as By)}>
            {BY.map((one) => (
              <option key={one.by} value={one.by}>
                {one.says}
              </option>
            ))}
          </select>
          <select
            aria-label="Over"
            value={span.days}
            onChange={(event) => setSpan(SPANS.find(({ days }) => days === Number(event.target.value))!)}
          >
            {SPANS.map((one) => (
              <option key={one.days} value={one.days}>
                The {one.says}
              </option>
            ))}
          </select>
        </span>
      }
    >
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={4} />}
      {data && data.rows.length === 0 && <Empty title="Nobody held anything." />}
      {names && (
        <Plot
          key={names}
          label={`GPUs held over the ${span.says}, by ${by}`}
          data={[shown!.atS, ...shown!.gpus]}
          lines={lines}
        />
      )}
      {data && data.rows.length > 0 && <HourTable usage={data} by={by} says={span.says} />}
      {data && data.complete_from_us > data.from_us && (
        <p className="faint">
          What jobs held before <Time us={data.complete_from_us} /> may be missing.
        </p>
      )}
    </Panel>
  );
}
