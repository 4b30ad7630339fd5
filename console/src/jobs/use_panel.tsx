// How a job uses its GPUs, their memory and its cores, or used them when it ran.
import { useEffect, useMemo } from 'react';
import { refresh, useQuery } from '../api/query';
import type { Job, JobUse } from '../api/types';
import { Panel, Time, Trouble } from '../elements/elements';
import { duration } from '../elements/format';
import { Plot } from '../overview/plot';
import { IDLE_PERCENT, idleGpus, laggards, linesOf, MEASURED_EVERY_MS, nowText } from './use';

export default function UsePanel({ job }: { job: Job }) {
  const topic = `use:${job.id}`;
  const isOver = job.phase === 'ended';
  const { data, error } = useQuery<JobUse>(`/v1/jobs/${job.id}/use`, [topic]);
  useEffect(() => {
    if (isOver) return refresh(topic); // it ended while it was looked at
    const timer = setInterval(() => refresh(topic), MEASURED_EVERY_MS);
    return () => clearInterval(timer);
  }, [topic, isOver]);
  const shown = useMemo(() => (data ? linesOf(data) : undefined), [data]);
  const names = shown?.lines.map(({ name }) => name).join() ?? '';
  const lines = useMemo(() => shown?.lines ?? [], [names]);
  if (error?.status === 404 || (isOver && shown?.lines.length === 0)) return null;
  const span = data && shown ? duration(Math.max(0, shown.atS.length - 1) * data.step_s) : '';
  const behind = data ? laggards(data) : '';
  const idle = data ? idleGpus(data) : '';
  return (
    <Panel
      title={!span ? 'Use' : isOver ? `Use over ${span}` : `Use over the last ${span}`}
      actions={<span className="faint">% of what it {isOver ? 'held' : 'holds'}</span>}
    >
      <Trouble error={error} />
      {shown && shown.lines.length === 0 && <p className="faint">Its nodes have not reported its use yet.</p>}
      {shown && shown.lines.length > 0 && (
        <Plot
          key={names}
          label={`Use over ${span}, in percent; ${isOver ? 'at last' : 'now'} ${nowText(shown)}`}
          data={[shown.atS, ...shown.lines.map(({ values }) => values)]}
          lines={lines}
          most={100}
        />
      )}
      {data?.last_input && (
        <p className="faint">
          Last used <Time us={Date.parse(data.last_input) * 1000} />
        </p>
      )}
      {idle && (
        <p className="faint">
          GPUs under {IDLE_PERCENT} %: {idle}
        </p>
      )}
      {behind && <p className="trouble-text">Less than half as busy as the others: {behind}</p>}
    </Panel>
  );
}
