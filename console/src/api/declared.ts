// Declared objects: changing one, and taking it back.
import { change } from './http';
import { refresh } from './query';

const pathOf = (kind: string, name: string) => `/v1/objects/${kind}/${encodeURIComponent(name)}`;

// Fields that are left out stay as they are.
export async function declare(kind: string, name: string, fields: unknown) {
  await change('PUT', pathOf(kind, name), fields);
  refresh('objects');
}

export async function takeBack(kind: string, name: string) {
  await change('DELETE', pathOf(kind, name));
  refresh('objects');
}
