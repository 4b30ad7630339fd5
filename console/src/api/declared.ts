// Declared objects: changing one, and taking it back.
import { change } from './http';
import { refresh } from './query';

const pathOf = (kind: string, name: string) => `/v1/objects/${kind}/${encodeURIComponent(name)}`;

interface Answer {
  warnings?: string[];
}

async function changed(method: 'PUT' | 'DELETE', kind: string, name: string, fields?: unknown): Promise<Answer> {
  const answer = await change<Answer>(method, pathOf(kind, name), fields);
  refresh('objects');
  return answer;
}

// Fields that are left out stay as they are.
export const declare = (kind: string, name: string, fields: unknown) => changed('PUT', kind, name, fields);
export const takeBack = (kind: string, name: string) => changed('DELETE', kind, name);
