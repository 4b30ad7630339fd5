// The queues' shares over the last hours.
import { useMemo } from 'react';
import { useQuery } from '../api/query';
import type { JobsPage, QueueInUse } from '../api/types';
import { Empty, Panel, useNow } from '../elements/elements';
import { duration } from '../elements/format';
import { Plot } from '../overview/plot';
import { reachOf } from '../overview/series';
import { sharesOf } from './share';

const MOST = 6;
const POINTS = 240;

export function SharePanel({ queues }: { queues: QueueInUse[] }) {
  const now = useNow();
  const minute = Math.floor(now / 60e6) * 60e6;
  const from = Math.floor((minute - 24 * 3600e6) / 600e6) * 600e6;
  const { data } = useQuery<JobsPage>(`/v1/jobs?order=newest&limit=2000&submitted_from=${from}`, ['jobs']);
  const reach = useMemo(() => reachOf(data?.jobs ?? [], minute), [data, minute]);
  const shares = useMemo(() => {
    const end = Math.max(minute, Date.now() * 1000);
    return sharesOf(data?.jobs ?? [], queues, end - reach, end, POINTS, MOST);
  }, [data, queues, minute, reach]);
  const names = shares.queues.map((queue) => queue.name).join('\n');
  const lines = useMemo(() => names.split('\n').map((name, at) => ({ name, colour: `--heat-c${at}` })), [names]);
  const span = duration(reach / 1e6);
  return (
    <Panel
      title={`GPUs held over the last ${span}`}
      actions={
        <span className="faint">
          with the queues below; of jobs submitted in the last day, at most 2000, in their last attempt
        </span>
      }
    >
      {names ? (
        <Plot
          key={names}
          label={`GPUs held by queue over the last ${span}; now ${shares.queues
            .map((queue) => `${queue.name} ${queue.gpus.at(-1)}`)
            .join(', ')}`}
          data={[shares.atS, ...shares.queues.map((queue) => queue.gpus)]}
          lines={lines}
        />
      ) : (
        <Empty title="No job has held a GPU." />
      )}
    </Panel>
  );
}
