// A secret that was just made: shown now and never again.
import { useState, type ReactNode } from 'react';
import { Dialog } from '../elements/dialog';

interface ShownProps {
  title: string;
  secret: string;
  onClose: () => void;
  children: ReactNode; // how it is used
}

export function Shown({ title, secret, onClose, children }: ShownProps) {
  const [copied, setCopied] = useState(false);
  return (
    <Dialog title={title} onClose={onClose}>
      <p>It is shown now and never again.</p>
      <pre className="code secret" tabIndex={0}>
        {secret}
      </pre>
      <p className="faint">{children}</p>
      <div className="dialog-actions">
        <button onClick={() => void navigator.clipboard?.writeText(secret).then(() => setCopied(true))}>
          {copied ? 'Copied' : 'Copy'}
        </button>
        <button className="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}
