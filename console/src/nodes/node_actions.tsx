// What an administrator may ask of a node, each with the question whether it is meant.
import { useState } from 'react';
import { useLocation } from 'wouter';
import { change } from '../api/http';
import { refresh } from '../api/query';
import type { Node } from '../api/types';
import { Confirm, given } from '../elements/dialog';
import { useSession } from '../session/session';
import { caresFor, type Care } from './care';

function Ask({ node, care, onClose }: { node: Node; care: Care; onClose: () => void }) {
  const [, go] = useLocation();
  const act = async (form: FormData) => {
    const body: Record<string, unknown> = { ...care.body };
    if (care.why) body[care.why] = given(form, 'why');
    if (form.get('now')) body.now = true;
    const path = `/v1/nodes/${encodeURIComponent(node.name)}${care.path}`;
    await change(care.method, path, Object.keys(body).length > 0 ? body : undefined);
    refresh('nodes');
    if (care.method === 'DELETE') go('/nodes');
  };
  return (
    <Confirm title={`${care.name}: ${node.name}`} verb={care.verb} danger={care.danger} act={act} onClose={onClose}>
      <p>{care.says}</p>
      {care.mayStop && (
        <fieldset className="checks">
          <legend>What runs there</legend>
          <label>
            <input type="checkbox" name="now" />
            is stopped at once, and runs again
          </label>
        </fieldset>
      )}
      {care.why && (
        <label>
          Reason
          <input name="why" maxLength={1024} placeholder="new fan" />
        </label>
      )}
    </Confirm>
  );
}

export function NodeActions({ node }: { node: Node }) {
  const { me } = useSession();
  const [chosen, choose] = useState<Care>();
  if (!me.admin) return null;
  return (
    <>
      {caresFor(node).map((care) => (
        <button key={care.name} onClick={() => choose(care)}>
          {care.name}
        </button>
      ))}
      {chosen && <Ask node={node} care={chosen} onClose={() => choose(undefined)} />}
    </>
  );
}
