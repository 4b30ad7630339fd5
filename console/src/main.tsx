// The console's first code.
import { createRoot } from 'react-dom/client';
import { takeEarlyReads } from './api/query';
import { App } from './app';
import { whoIsSignedIn } from './session/session';
import './style/tokens.css';
import './style/base.css';
import './style/frame.css';
import './style/parts.css';
import './style/pages.css';

// Until this has run, index.html's own frame is shown.
async function start() {
  const first = await whoIsSignedIn();
  if (first.me) await takeEarlyReads();
  createRoot(document.getElementById('root')!).render(<App first={first} />);
}

void start();
