// Where somebody hears of what, and whether it arrives.
import { useState, type FormEvent } from 'react';
import { ApiError, change } from '../api/http';
import { refresh, useQuery } from '../api/query';
import type { NoticeStanding } from '../api/types';
import { Confirm, Dialog } from '../elements/dialog';
import { Empty, Listing, Panel, Time, Trouble } from '../elements/elements';
import { count } from '../elements/format';
import { ABOUT, sayAbout, sayWay, USUAL, WAYS, withoutTarget, withTarget } from './notices';

interface Notices {
  mail: boolean;
  webhooks: boolean;
  targets: NoticeStanding[];
}

function TargetForm({
  path,
  notices,
  at,
  onClose,
}: {
  path: string;
  notices: Notices;
  at?: number;
  onClose: () => void;
}) {
  const before = at === undefined ? undefined : notices.targets[at];
  const [by, setBy] = useState<NoticeStanding['by']>(before?.by ?? (notices.mail ? 'mail' : 'slack'));
  const [error, setError] = useState<ApiError>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setError(undefined);
    const form = new FormData(event.currentTarget);
    const about = form.getAll('about') as NoticeStanding['about'];
    try {
      if (about.length === 0) throw new ApiError(400, 'nothing_chosen', 'Choose what you want to hear of.');
      const target = { by, to: String(form.get('to')).trim(), about };
      await change('PUT', path, { targets: withTarget(notices.targets, target, at) });
      refresh('objects');
      onClose();
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    }
  };
  const off = by === 'mail' ? !notices.mail : !notices.webhooks;
  return (
    <Dialog title={before ? 'Change a target' : 'Another target'} onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          How
          <select name="by" value={by} onChange={(event) => setBy(event.target.value as NoticeStanding['by'])}>
            {WAYS.map((way) => (
              <option key={way.by} value={way.by}>
                {way.says}
              </option>
            ))}
          </select>
        </label>
        {off && <p className="faint">This cluster sends none of these. Its administrator can set that up.</p>}
        <label>
          {by === 'mail' ? 'Address' : 'URL'}
          <input
            name="to"
            type={by === 'mail' ? 'email' : 'text'}
            required
            maxLength={1024}
            defaultValue={before?.to}
            placeholder={WAYS.find((way) => way.by === by)?.example}
            spellCheck={false}
            aria-invalid={error ? true : undefined}
          />
        </label>
        <fieldset className="checks">
          <legend>Write when</legend>
          {ABOUT.map(({ word, says }) => (
            <label key={word}>
              <input
                type="checkbox"
                name="about"
                value={word}
                defaultChecked={(before?.about ?? USUAL).includes(word)}
              />
              {says}
            </label>
          ))}
        </fieldset>
        <Trouble error={error} />
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" className="primary">
            {before ? 'Change it' : 'Add it'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

// "Sent." or what the target said to a notice that was sent just now.
function Test({ path, number, to }: { path: string; number: number; to: string }) {
  const [said, say] = useState('');
  const test = async () => {
    say('Sending …');
    try {
      const answer = await change<{ delivered: boolean; code?: string; detail?: string }>(
        'POST',
        `${path}/${number}/test`,
      );
      say(answer.delivered ? 'It arrived.' : `${answer.detail} (${answer.code})`);
    } catch (problem) {
      say(problem instanceof ApiError ? problem.message : String(problem));
    }
  };
  return (
    <>
      <button className="small" onClick={() => void test()} aria-label={`Test ${to}`}>
        Test
      </button>
      <span role="status" className="faint wrapped">
        {said}
      </span>
    </>
  );
}

function Standing({ target }: { target: NoticeStanding }) {
  return (
    <>
      {target.delivered > 0 ? (
        <>
          {count(target.delivered, 'notice')}, the last <Time us={target.delivered_at_us} />
        </>
      ) : (
        <span className="faint">nothing was sent yet</span>
      )}
      {target.error && (
        <div className="trouble-text wrapped">
          {target.error} <Time us={target.error_at_us} />
        </div>
      )}
      {target.waiting > 0 && <div>{count(target.waiting, 'notice')} to be tried again</div>}
      {target.suppressed > 0 && <div>{count(target.suppressed, 'notice')} left out: too many in an hour</div>}
    </>
  );
}

export function NoticePanel({ user }: { user: string }) {
  const path = `/v1/users/${encodeURIComponent(user)}/notices`;
  const { data, error } = useQuery<Notices>(path, ['objects', 'jobs']);
  const [open, setOpen] = useState<{ at?: number }>();
  const [removed, remove] = useState<number>();
  return (
    <Panel title="Notices" actions={data && <button onClick={() => setOpen({})}>Add a target</button>}>
      <Listing
        label="Notices"
        columns={['To', 'How', 'When', 'Sent']}
        items={data?.targets}
        error={error}
        lines={2}
        empty={
          <Empty title="Nobody writes to you.">
            <p>Mail, a chat or a program of yours can hear when your jobs start, end or will be stopped.</p>
          </Empty>
        }
      >
        {(target, at) => (
          <tr key={at}>
            <td className="strong code-cell">{target.to}</td>
            <td>{sayWay(target.by)}</td>
            <td className="wrapped">{target.about.map(sayAbout).join('; ')}</td>
            <td>
              <Standing target={target} />
            </td>
            <td className="row-actions">
              <Test path={path} number={at + 1} to={target.to} />
              <button className="small" onClick={() => setOpen({ at })} aria-label={`Change ${target.to}`}>
                Change
              </button>
              <button className="danger small" onClick={() => remove(at)} aria-label={`Remove ${target.to}`}>
                Remove
              </button>
            </td>
          </tr>
        )}
      </Listing>
      {open && data && <TargetForm path={path} notices={data} at={open.at} onClose={() => setOpen(undefined)} />}
      {removed !== undefined && data && (
        <Confirm
          title={`Remove ${data.targets[removed]?.to}`}
          verb="Remove it"
          danger
          onClose={() => remove(undefined)}
          act={async () => (
            await change('PUT', path, { targets: withoutTarget(data.targets, removed) }),
            refresh('objects')
          )}
        >
          <p>Nothing is written to it any more.</p>
        </Confirm>
      )}
    </Panel>
  );
}
