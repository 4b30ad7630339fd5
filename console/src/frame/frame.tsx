// The frame around every page: navigation, who is signed in, keys.
import { useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { isConnected, onConnection } from '../api/live';
import { Dialog } from '../elements/dialog';
import { useSession } from '../session/session';
import { ICONS, Mark } from './icons';
import { Chords, takesText, type Binding } from './keys';
import { MODES, mode, setMode, type Mode } from './mode';

const PLACES = [
  { path: '/', name: 'Overview', icon: 'overview', keys: 'g o' },
  { path: '/jobs', name: 'Jobs', icon: 'jobs', keys: 'g j' },
  { path: '/sessions', name: 'Sessions', icon: 'sessions', keys: 'g s' },
  { path: '/nodes', name: 'Nodes', icon: 'nodes', keys: 'g n' },
  { path: '/queues', name: 'Queues', icon: 'queues', keys: 'g q' },
  { path: '/plan', name: 'Plan', icon: 'plan', keys: 'g p' },
  { path: '/usage', name: 'Usage', icon: 'usage', keys: 'g u' },
  { path: '/people', name: 'People', icon: 'people', keys: 'g k' },
  { path: '/you', name: 'Your page', icon: 'you', keys: 'g y' },
];

function isAt(location: string, path: string): boolean {
  return path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`);
}

function focusFilter() {
  const filter = document.querySelector<HTMLInputElement>('[data-filter]');
  filter?.focus();
  filter?.select();
}

function useKeys(bindings: readonly Binding[]) {
  useEffect(() => {
    const chords = new Chords(() => bindings);
    const press = (event: KeyboardEvent) => {
      if (takesText(event.target)) return;
      const binding = chords.take(event, performance.now());
      if (!binding) return;
      event.preventDefault();
      binding.run();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [bindings]);
}

function Help({ bindings, onClose }: { bindings: readonly Binding[]; onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {bindings.map((binding) => (
          <div key={binding.keys}>
            <dt>
              {binding.keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{binding.what}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-actions">
        <button onClick={onClose}>Close</button>
      </div>
    </Dialog>
  );
}

function UserMenu({ onHelp }: { onHelp: () => void }) {
  const { me, signOut } = useSession();
  const [chosen, choose] = useState<Mode>(mode);
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const leave = (event: Event) => {
      const away =
        event instanceof KeyboardEvent ? event.key === 'Escape' : !menu.current?.contains(event.target as Node);
      if (away && menu.current?.open) menu.current.open = false;
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('keydown', leave);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('keydown', leave);
    };
  }, []);
  return (
    <details className="user-menu" ref={menu}>
      <summary>
        <span className="user-name">{me.user || 'administrator'}</span>
        {me.admin && me.user !== 'admin' && <span className="tag">admin</span>}
      </summary>
      <div className="user-menu-body">
        <fieldset>
          <legend>Colours</legend>
          <div className="choice">
            {MODES.map((name) => (
              <button key={name} aria-pressed={chosen === name} onClick={() => (setMode(name), choose(name))}>
                {name.charAt(0).toUpperCase() + name.slice(1)}
              </button>
            ))}
          </div>
        </fieldset>
        <button onClick={onHelp}>
          Keys <kbd>?</kbd>
        </button>
        <button onClick={() => void signOut()}>Sign out</button>
      </div>
    </details>
  );
}

export function Frame({ children }: { children: ReactNode }) {
  const [location, go] = useLocation();
  const [help, setHelp] = useState(false);
  const [open, setOpen] = useState(false);
  const connected = useSyncExternalStore(onConnection, isConnected);
  const bindings = useMemo<Binding[]>(
    () => [
      ...PLACES.map(({ path, name, keys }) => ({ keys, what: name, run: () => go(path) })),
      { keys: 'c', what: 'Submit a job', run: () => go('/submit') },
      { keys: '/', what: 'Filter the list', run: focusFilter },
      { keys: '?', what: 'These keys', run: () => setHelp(true) },
    ],
    [go],
  );
  useKeys(bindings);
  useEffect(() => setOpen(false), [location]);
  return (
    <div className="frame">
      <a className="skip" href="#main" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </a>
      <header className="top">
        <Link href="/" className="brand">
          <Mark />
          <span>Dovetail</span>
        </Link>
        <button className="menu-button" aria-expanded={open} aria-controls="navigation" onClick={() => setOpen(!open)}>
          {ICONS.menu} Menu
        </button>
      </header>
      <nav id="navigation" className={open ? 'navigation open' : 'navigation'} aria-label="Pages">
        <ul>
          {PLACES.map(({ path, name, icon }) => (
            <li key={path}>
              <Link href={path} aria-current={isAt(location, path) ? 'page' : undefined}>
                {ICONS[icon]} {name}
              </Link>
            </li>
          ))}
        </ul>
        <Link href="/submit" className="button primary submit-link">
          {ICONS.add} Submit a job
        </Link>
        <div className="navigation-end">
          {!connected && (
            <p className="reconnecting" role="status">
              Connecting again…
            </p>
          )}
          <UserMenu onHelp={() => setHelp(true)} />
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      {help && <Help bindings={bindings} onClose={() => setHelp(false)} />}
    </div>
  );
}
