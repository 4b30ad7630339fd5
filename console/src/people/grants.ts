// Roles as bindings: the binding is the membership, and there is no other list. As `dove role` does it. Pure.
import type { Declared } from '../api/types';

export const ROLES = ['viewer', 'member', 'manager', 'admin', 'auditor'] as const;

export interface Grant {
  role: string;
  level: 'cluster' | 'domain' | 'project';
  name: string; // of the domain or project
}

export function list(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

// The names in a text field, each once.
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))];
}

// One binding a role and level, so that what is granted is found again.
export function bindingName({ role, level, name }: Grant): string {
  if (level === 'cluster') return `cluster.${role}s`;
  return level === 'domain' ? `domain.${name}.${role}s` : `${name}.${role}s`;
}

type Field = 'users' | 'groups';

// The binding with `who` in it; `before` as it is declared, if it is.
export function granted(
  grant: Grant,
  field: Field,
  who: string,
  before: Declared | undefined,
): Record<string, unknown> {
  return {
    role: grant.role,
    ...(grant.level === 'cluster' ? {} : { [grant.level]: grant.name }),
    [field]: [...new Set([...list(before?.[field]), who])],
    ...(before ? { version: before.version } : {}),
  };
}

// The binding without `who`. An empty one stays: without any the project would be open to everybody.
export function takenBack(binding: Declared, field: Field, who: string) {
  return {
    role: binding.role,
    [field]: list(binding[field]).filter((name) => name !== who),
    version: binding.version,
  };
}
