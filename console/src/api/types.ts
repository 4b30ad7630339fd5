// The nouns of the API, as api/openapi.yaml describes them.
import type { components } from './schema.gen';

type Schemas = components['schemas'];
export type JobSummary = Schemas['JobSummary'];
export type Job = Schemas['Job'];
export type Attempt = Schemas['Attempt'];
export type Placement = Schemas['Placement'];
export type Reason = Schemas['Reason'];
export type Why = Schemas['Why'];
export type JobUse = Schemas['JobUse'];
export type UsageOverTime = Schemas['UsageOverTime'];
export type Node = Schemas['Node'];
export type NodeBrief = Schemas['NodeBrief'];
export type NodeExecutor = NonNullable<Node['executors']>[number];
export type Cluster = Schemas['Cluster'];
export type QueueInUse = Schemas['QueueInUse'];
export type Key = Schemas['Key'];
export type NewKey = Schemas['NewKey'];
export type Secret = Schemas['Secret'];
export type SshKey = Schemas['SshKey'];
export type SshGateway = Schemas['SshGateway'];
export type NoticeTarget = Schemas['NoticeTarget'];
export type NoticeStanding = Schemas['NoticeStanding'];
export type Submission = Schemas['Submission'];
export type Submitted = Schemas['Submitted'];
export type TriedSubmission = Schemas['TriedSubmission'];
export type StartableApp = Schemas['StartableApp'];
export type Problem = Schemas['Problem'];
export type Reservation = Schemas['ReservationObject'];

export type Me = Schemas['Me'];

export interface JobsPage {
  jobs: JobSummary[];
  next: number | null;
}

export interface ApiRecord {
  seq: number;
  at_us: number;
  kind: string;
  job?: number;
  data?: { node?: number };
}

// A declared object of any kind; which fields it has depends on `kind`.
export interface Declared {
  kind: string;
  name: string;
  [field: string]: unknown;
}
