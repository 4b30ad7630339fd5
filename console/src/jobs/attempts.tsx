// The attempts of a job over time, with the stages of each, and the ranks of the last one.
import type { Attempt, Job } from '../api/types';
import { Empty, Panel, State, Table, Time, useNow } from '../elements/elements';
import { duration, words } from '../elements/format';
import { NodeLinks } from './job_page';

interface Span {
  from: number;
  to: number;
  tone: string;
}

function spansOf(attempt: Attempt, now: number): Span[] {
  const begun = attempt.allocated_at_us ?? attempt.started_at_us ?? now;
  const end = attempt.ended_at_us ?? now;
  if (!attempt.started_at_us) return [{ from: begun, to: end, tone: 'busy' }];
  return [
    { from: begun, to: attempt.started_at_us, tone: 'busy' },
    {
      from: attempt.started_at_us,
      to: end,
      tone: attempt.stop_reason && attempt.stop_reason !== 'finished' ? 'bad' : 'good',
    },
  ];
}

function Timeline({ job }: { job: Job }) {
  const now = useNow();
  const from = job.submitted_at_us ?? now;
  const to = Math.max(job.ended_at_us ?? now, from + 1);
  const x = (at: number) => (1000 * (Math.max(at, from) - from)) / (to - from);
  return (
    <svg
      className="timeline"
      viewBox="0 0 1000 14"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Its life over ${duration((to - from) / 1e6)}: ${job.attempts.length} attempts`}
    >
      <rect className="tone-wait" x="0" y="5" width="1000" height="4" />
      {job.attempts.flatMap((attempt) =>
        spansOf(attempt, now).map((span) => (
          <rect
            key={`${attempt.number}-${span.tone}-${span.from}`}
            className={`tone-${span.tone}`}
            x={x(span.from)}
            y="0"
            width={Math.max(2, x(span.to) - x(span.from))}
            height="14"
          />
        )),
      )}
    </svg>
  );
}

function exitOf(attempt: Attempt, rank: number): string {
  const exit = attempt.exits.find((one) => one.rank === rank);
  if (!exit) return attempt.stage === 'ended' ? '–' : 'runs';
  if (exit.cause) return exit.cause;
  return exit.signal ? `signal ${exit.signal}` : `exit code ${exit.exit_code}`;
}

const RANKS_SHOWN = 256;

function Ranks({ attempt }: { attempt: Attempt }) {
  const ranks = attempt.placements.flatMap((placement) =>
    placement.tasks.map((task) => ({ ...task, node: placement.node_name ?? String(placement.node) })),
  );
  return (
    <Panel title={`Ranks of attempt ${attempt.number}`}>
      <Table
        label="Ranks"
        head={['Rank', 'Node', 'Cores', 'GPUs', 'Exit'].map((name) => (
          <th key={name}>{name}</th>
        ))}
      >
        {ranks.slice(0, RANKS_SHOWN).map((task) => (
          <tr key={task.rank}>
            <td>{task.rank}</td>
            <td>
              <NodeLinks names={[task.node]} />
            </td>
            <td>{task.cores.join(', ')}</td>
            <td>
              {task.devices
                .map((grant) =>
                  grant.share_milli < 1000 ? `${grant.device} (${grant.share_milli / 10} %)` : grant.device,
                )
                .join(', ') || '–'}
            </td>
            <td>{exitOf(attempt, task.rank)}</td>
          </tr>
        ))}
      </Table>
      {ranks.length > RANKS_SHOWN && (
        <p className="faint">
          The first {RANKS_SHOWN} of {ranks.length}; `dove show` has all.
        </p>
      )}
    </Panel>
  );
}

export function Attempts({ job }: { job: Job }) {
  const last = job.attempts.at(-1);
  return (
    <>
      <Panel title="Attempts">
        <Timeline job={job} />
        {job.attempts.length === 0 ? (
          <Empty title="There was no attempt yet." />
        ) : (
          <Table
            label="Attempts"
            head={['Attempt', 'Stage', 'Placed', 'Started', 'Ended', 'Why it ended', 'Nodes'].map((name) => (
              <th key={name}>{name}</th>
            ))}
          >
            {[...job.attempts].reverse().map((attempt) => (
              <tr key={attempt.number}>
                <td>{attempt.number}</td>
                <td>
                  <State word={attempt.stage} />
                </td>
                <td>
                  <Time us={attempt.allocated_at_us} />
                </td>
                <td>
                  <Time us={attempt.started_at_us} />
                </td>
                <td>
                  <Time us={attempt.ended_at_us} />
                </td>
                <td>{attempt.stop_reason ? words(attempt.stop_reason) : '–'}</td>
                <td>
                  <NodeLinks names={attempt.nodes} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      {last && last.placements.length > 0 && <Ranks attempt={last} />}
    </>
  );
}
