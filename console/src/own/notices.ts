// What somebody can hear of, and the list of targets as the API takes it. Pure.
import type { NoticeStanding, NoticeTarget } from '../api/types';

type About = NoticeStanding['about'][number];

export const ABOUT: { word: About; says: string }[] = [
  { word: 'job_started', says: 'a job of mine starts' },
  { word: 'job_ended', says: 'it ends, in whatever way' },
  { word: 'job_failed', says: 'it fails' },
  { word: 'job_starts_soon', says: 'it starts within 15 minutes' },
  { word: 'job_stops_soon', says: 'it will be stopped' },
  { word: 'session_idle', says: 'nobody seems to use my session' },
  { word: 'node_sick', says: 'a node is sick (administrators)' },
];
export const USUAL: readonly About[] = ['job_ended', 'job_stops_soon', 'session_idle'];

export const WAYS: { by: NoticeStanding['by']; says: string; example: string }[] = [
  { by: 'mail', says: 'Mail', example: 'ada@example.org' },
  { by: 'slack', says: 'Slack', example: 'https://hooks.slack.com/services/…' },
  { by: 'webhook', says: 'Webhook', example: 'https://ci.example.org/hooks/dove' },
];

export const sayWay = (by: string) => WAYS.find((way) => way.by === by)?.says ?? by;
export const sayAbout = (word: string) => ABOUT.find((one) => one.word === word)?.says ?? word;

const targetOf = ({ by, to, about }: NoticeTarget): NoticeTarget => ({ by, to, about });

// The whole list with `target` in the place `at`, or behind the others.
export function withTarget(all: readonly NoticeTarget[], target: NoticeTarget, at?: number): NoticeTarget[] {
  const targets = all.map(targetOf);
  if (at === undefined) targets.push(target);
  else targets[at] = target;
  return targets;
}

export function withoutTarget(all: readonly NoticeTarget[], at: number): NoticeTarget[] {
  return all.map(targetOf).filter((_, place) => place !== at);
}
