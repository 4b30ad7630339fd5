// Projects: whoever may, declares them here, and takes them back.
import { useState } from 'react';
import { declare } from '../api/declared';
import { useQuery } from '../api/query';
import type { Declared } from '../api/types';
import { Confirm, given } from '../elements/dialog';
import { Empty, Listing, Panel } from '../elements/elements';
import { runsADomain } from '../session/may';
import { useSession } from '../session/session';
import { TakeBack } from './take_back';

function NewProject({ onClose }: { onClose: () => void }) {
  const act = (form: FormData) => {
    const domain = given(form, 'domain');
    return declare('project', given(form, 'name'), domain ? { domain } : {});
  };
  return (
    <Confirm title="A new project" verb="Declare the project" act={act} onClose={onClose}>
      <label>
        Name
        <input name="name" required maxLength={256} spellCheck={false} autoComplete="off" />
      </label>
      <label>
        Domain
        <input name="domain" maxLength={256} placeholder="none" spellCheck={false} />
      </label>
      <p className="faint">Its members are those to whom you give a role in it.</p>
    </Confirm>
  );
}

export function Projects() {
  const { me } = useSession();
  const { data, error } = useQuery<{ objects: Declared[] }>(
    '/v1/objects?kind=project&limit=10000',
    ['objects'],
    'objects',
  );
  const [making, make] = useState(false);
  const may = runsADomain(me);
  return (
    <Panel title="Projects" actions={may && <button onClick={() => make(true)}>New project</button>}>
      <Listing
        label="Projects"
        columns={['Name', 'Domain']}
        items={data?.objects}
        error={error}
        lines={3}
        empty={<Empty title="No project is declared." />}
      >
        {(project) => (
          <tr key={project.name}>
            <td className="strong">{project.name}</td>
            <td>{String(project.domain ?? '') || '–'}</td>
            <td className="row-actions">
              {may && (
                <TakeBack kind="project" name={project.name}>
                  Nothing is submitted to it any more. Its jobs go on.
                </TakeBack>
              )}
            </td>
          </tr>
        )}
      </Listing>
      {making && <NewProject onClose={() => make(false)} />}
    </Panel>
  );
}
