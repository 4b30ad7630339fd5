// The queues' shares over the last hours.
import { useEffect, useMemo } from 'react';
import { withQuery } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { QueueInUse, UsageOverTime } from '../api/types';
import { Empty, Panel, Skeleton } from '../elements/elements';
import { duration } from '../elements/format';
import { Plot } from '../overview/plot';
import { sharesOf } from './share';

const MOST = 6;
const SPAN_S = 6 * 3600;
const STEPS = 360; // minutes
const EVERY_MS = 60_000;

export function SharePanel({ queues }: { queues: QueueInUse[] }) {
  const query = { by: 'queue', seconds: SPAN_S, steps: STEPS, limit: 1000 };
  const { data } = useQuery<UsageOverTime>(withQuery('/v1/usage', query), ['usage']);
  useEffect(() => {
    const timer = setInterval(() => refresh('usage'), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const shares = useMemo(() => data && sharesOf(data, queues, MOST), [data, queues]);
  const names = shares?.queues.map((queue) => queue.name).join('\n') ?? '';
  const lines = useMemo(() => names.split('\n').map((name, at) => ({ name, colour: `--heat-c${at}` })), [names]);
  const span = duration(shares && names ? shares.atS.at(-1)! - shares.atS[0]! : SPAN_S);
  return (
    <Panel
      title={`GPUs held over the last ${span}`}
      actions={<span className="faint">with the queues below, averaged by the minute</span>}
    >
      {!shares && <Skeleton lines={4} />}
      {shares && !names && <Empty title="No job has held a GPU." />}
      {shares && names && (
        <Plot
          key={names}
          label={`GPUs held by queue over the last ${span}; now ${shares.queues
            .map((queue) => `${queue.name} ${queue.gpus.at(-1)!.toFixed(1)}`)
            .join(', ')}`}
          data={[shares.atS, ...shares.queues.map((queue) => queue.gpus)]}
          lines={lines}
        />
      )}
    </Panel>
  );
}
