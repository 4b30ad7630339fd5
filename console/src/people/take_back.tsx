// Taking back something that was declared: a row's button, and the question behind it.
import { useState, type ReactNode } from 'react';
import { takeBack } from '../api/declared';
import { Confirm } from '../elements/dialog';

export function TakeBack({ kind, name, children }: { kind: string; name: string; children: ReactNode }) {
  const [asking, ask] = useState(false);
  return (
    <>
      <button className="danger small" aria-label={`Take back the ${kind} ${name}`} onClick={() => ask(true)}>
        Take back
      </button>
      {asking && (
        <Confirm
          title={`Take back the ${kind} ${name}`}
          verb="Take it back"
          danger
          act={() => takeBack(kind, name)}
          onClose={() => ask(false)}
        >
          <p>{children}</p>
        </Confirm>
      )}
    </>
  );
}
