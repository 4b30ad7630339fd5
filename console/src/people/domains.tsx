// Domains: the administrator declares them here, and takes them back.
import { useState } from 'react';
import { declare } from '../api/declared';
import { useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Confirm, given } from '../elements/dialog';
import { Empty, Listing, Panel } from '../elements/elements';
import { useSession } from '../session/session';
import { TakeBack } from './take_back';

function NewDomain({ onClose }: { onClose: () => void }) {
  const act = (form: FormData) => {
    const title = given(form, 'title');
    return declare('domain', given(form, 'name'), title ? { title } : {});
  };
  return (
    <Confirm title="A new domain" verb="Declare the domain" act={act} onClose={onClose}>
      <label>
        Name
        <input name="name" required maxLength={256} spellCheck={false} autoComplete="off" />
      </label>
      <label>
        Title
        <input name="title" maxLength={1024} placeholder="none" />
      </label>
      <p className="faint">Its administrators declare its projects and groups, and limit its projects.</p>
    </Confirm>
  );
}

export function Domains() {
  const { me } = useSession();
  const { data, error } = useQuery<{ objects: Declared[] }>(
    '/v1/objects?kind=domain&limit=10000',
    ['objects'],
    'objects',
  );
  const [making, make] = useState(false);
  return (
    <Panel title="Domains" actions={me.admin && <button onClick={() => make(true)}>New domain</button>}>
      <Listing
        label="Domains"
        columns={['Name', 'Title']}
        items={data?.objects}
        error={error}
        lines={2}
        empty={<Empty title="No domain is declared." />}
      >
        {(domain) => (
          <tr key={domain.name}>
            <td className="strong">{domain.name}</td>
            <td>{String(domain.title ?? '') || '–'}</td>
            <td className="row-actions">
              {me.admin && (
                <TakeBack kind="domain" name={domain.name}>
                  It is refused while a project is in it.
                </TakeBack>
              )}
            </td>
          </tr>
        )}
      </Listing>
      {making && <NewDomain onClose={() => make(false)} />}
    </Panel>
  );
}
