// The icons, drawn by hand on a 16 × 16 grid.
import type { ReactNode } from 'react';

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const ICONS: Record<string, ReactNode> = {
  overview: (
    <Icon>
      <rect x="2" y="2" width="5" height="5" rx="1" />
      <rect x="9" y="2" width="5" height="5" rx="1" />
      <rect x="2" y="9" width="5" height="5" rx="1" />
      <rect x="9" y="9" width="5" height="5" rx="1" />
    </Icon>
  ),
  jobs: (
    <Icon>
      <path d="M2 4h12M2 8h12M2 12h8" />
    </Icon>
  ),
  sessions: (
    <Icon>
      <rect x="2" y="3" width="12" height="10" rx="1.5" />
      <path d="M2 6h12M5 9l1.5 1.2L5 11.4M8.5 11h2.5" />
    </Icon>
  ),
  nodes: (
    <Icon>
      <rect x="2" y="2.5" width="12" height="4.5" rx="1" />
      <rect x="2" y="9" width="12" height="4.5" rx="1" />
      <path d="M4.5 4.75h.01M4.5 11.25h.01" strokeLinecap="round" strokeWidth="2" />
    </Icon>
  ),
  queues: (
    <Icon>
      <path d="M4 2v9a2 2 0 0 0 2 2h2M4 6h4" />
      <rect x="9" y="4" width="5" height="4" rx="1" />
      <rect x="9" y="11" width="5" height="4" rx="1" />
    </Icon>
  ),
  plan: (
    <Icon>
      <path d="M2 3h6M5 8h7M8 13h6" strokeWidth="2.4" />
    </Icon>
  ),
  usage: (
    <Icon>
      <path d="M3 13V8M8 13V3M13 13V6" strokeWidth="2.4" />
    </Icon>
  ),
  people: (
    <Icon>
      <circle cx="8" cy="5" r="2.6" />
      <path d="M3 14c.4-3 2.4-4.4 5-4.4s4.600 1.400 5 4.400" />
    </Icon>
  ),
  you: (
    <Icon>
      <circle cx="8" cy="8" r="6" />
      <circle cx="8" cy="6.4" r="1.9" />
      <path d="M4.2 12.4c.6-2 2-2.9 3.8-2.9s3.2.9 3.8 2.9" />
    </Icon>
  ),
  add: (
    <Icon>
      <path d="M8 3v10M3 8h10" />
    </Icon>
  ),
  menu: (
    <Icon>
      <path d="M2 4h12M2 8h12M2 12h12" />
    </Icon>
  ),
};

export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" className="mark-ground" />
      <path d="M6 7h20l-6 9 6 9H6l6-9z" className="mark-figure" />
    </svg>
  );
}
